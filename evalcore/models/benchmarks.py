"""Benchmarks and their members."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalcore.models.columns import known, once


class Benchmark(models.Model):
    """A published set of stories, or the user's own."""

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    source = models.TextField(blank=True, help_text="Where it was imported from.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return self.title


class BenchmarkMember(models.Model):
    """A member of a benchmark, who may see it, plan studies over it and compute scores.

    Owners say who else may. Managers of everything need no row; without any row a
    benchmark is theirs alone.
    """

    class Role(models.TextChoices):
        OWNER = "owner", _("owner")
        MEMBER = "member", _("member")

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="members"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="benchmarks"
    )
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)

    class Meta:
        ordering = ["benchmark_id", "id"]
        constraints = [
            once("member_once_per_benchmark", "benchmark", "user"),
            known("benchmark_member_role_known", role=["owner", "member"]),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role} of {self.benchmark}"
