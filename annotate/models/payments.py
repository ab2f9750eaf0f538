"""Decisions about the pay of annotators."""

from decimal import Decimal

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import pgettext_lazy

from annotate.models.people import Annotator, account_if_known
from evalcore.models.columns import holds, known

NOTHING = Decimal(0)


class Payment(models.Model):
    """The decision whether an annotator is paid, with a bonus."""

    class Decision(models.TextChoices):
        NONE = "", pgettext_lazy("payment", "not decided")
        APPROVE = "approve", pgettext_lazy("payment", "approved")
        REJECT = "reject", pgettext_lazy("payment", "rejected")

    annotator = models.OneToOneField(
        Annotator, on_delete=models.CASCADE, related_name="payment"
    )
    decision = models.CharField(
        max_length=10, choices=Decision.choices, blank=True, default=Decision.NONE
    )
    reason = models.CharField(
        max_length=300, blank=True, help_text="Of a rejection; platforms show it."
    )
    bonus = models.DecimalField(
        max_digits=8,
        decimal_places=2,
        default=NOTHING,
        validators=[MinValueValidator(NOTHING)],
        help_text="In the currency of the study.",
    )
    decided_at = models.DateTimeField()
    decided_by = account_if_known()
    paid_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            known("payment_decision_known", decision=["", "approve", "reject"]),
            holds("payment_bonus_not_negative", Q(bonus__gte=0)),
            holds(
                "payment_rejected_has_reason_and_no_bonus",
                (~Q(decision="reject") & Q(reason=""))
                | (Q(decision="reject", bonus=0) & ~Q(reason="")),
            ),
            holds(
                "payment_paid_was_approved",
                Q(paid_at__isnull=True) | Q(decision="approve") | Q(bonus__gt=0),
            ),
        ]

    @property
    def is_due(self) -> bool:
        """Say whether something is to be paid still."""
        is_owed = self.decision == self.Decision.APPROVE or self.bonus > 0
        return is_owed and self.paid_at is None
