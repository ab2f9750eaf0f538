"""Address of the server, and links to set a password."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotate.models.people import account_if_known
from evalcore.models.columns import holds, once


class ServerAddress(models.Model):
    """The address that annotators reach, as entered in the browser; one row."""

    address = models.CharField(max_length=300)

    class Meta:
        constraints = [holds("one_server_address", Q(id=1))]


class PasswordLink(models.Model):
    """The latest link with which an account's owner sets a password.

    The link itself is not stored, and works once.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="password_link"
    )
    token_hash = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    created_by = account_if_known()

    @property
    def is_valid(self) -> bool:
        """Say whether the link still works."""
        is_fresh = self.used_at is None and self.expires_at > timezone.now()
        return is_fresh and self.user.is_active


class Identity(models.Model):
    """A login at an institution that belongs to a user.

    Issuer and subject identify the person; other claims can be chosen by them.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities"
    )
    issuer = models.CharField(max_length=200)
    subject = models.CharField(max_length=255)
    follows_groups = models.BooleanField(
        default=False,
        help_text="Its login created the account, whose rights are those of its "
        "groups.",
    )
    granted = models.JSONField(
        default=dict,
        blank=True,
        help_text="Role by study, as groups gave them at the last login.",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [once("identity_once", "issuer", "subject")]
