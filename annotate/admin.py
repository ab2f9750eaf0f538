"""Admin pages for accounts and members of studies."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from annotate.models import StudyMember, User

admin.site.site_header = "Plumbline"
admin.site.register(User, UserAdmin)


@admin.register(StudyMember)
class StudyMemberAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic when it runs
    list_display = ("study", "user", "role")
    list_filter = ("study", "role")
    list_select_related = ("study", "user")
