"""The site's addresses where a login provider is set."""

from annotate.urls import sign_on_urls
from evalcore.urls import handler500, urlpatterns

__all__ = ["handler500", "urlpatterns"]

urlpatterns = [*urlpatterns, *sign_on_urls]
