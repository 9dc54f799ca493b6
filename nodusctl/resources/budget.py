"""Budget: a limit on what a scope may spend. It binds what its own state records."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator

from nodusctl.resources.fields import REQUIRED, SpecModel, StatusModel, refuse, spec_field
from nodusctl.resources.mutability import Mutability
from nodusctl.resources.scalars import Amount, Count, Name, Text, Time, money_above_zero
from nodusctl.resources.status import Condition


def _percent(value: int) -> int:
    if not 1 <= value <= 100:
        raise refuse("Invalid", "A percentage is out of range.", f"{value} was written; allowed is 1 to 100.")
    return value


Percent = Annotated[Count, AfterValidator(_percent)]


class LabelSelectorRequirement(SpecModel):
    """One condition on labels."""

    key: Text = spec_field("Label key.", REQUIRED)
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = spec_field("How the values are meant.", REQUIRED)
    values: tuple[Text, ...] | None = spec_field("Values for In and NotIn.")


class LabelSelector(SpecModel):
    """Objects by their labels, as metav1.LabelSelector."""

    match_labels: dict[Text, Text] | None = spec_field("Labels that must be equal.")
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = spec_field("Conditions that must all hold.")


class BudgetScope(SpecModel):
    """What counts."""

    project: Name | None = spec_field("Only this project; left out, every project of the state.")
    selector: LabelSelector | None = spec_field("Only objects with these labels.")


class BudgetSpec(SpecModel):
    """What the owner wants."""

    limit_usd: Annotated[Amount, AfterValidator(money_above_zero)] = spec_field(
        "Most that spend and holds of a period may reach.", REQUIRED, rule="More than 0."
    )
    period: Literal["Monthly", "Total"] = spec_field(
        "Monthly is the UTC calendar month; Total has no end.", "Monthly", mut=Mutability.IMMUTABLE
    )
    action: Literal["Block", "Notify"] = spec_field("Block refuses holds above the limit; Notify only says so.", "Block")
    scope: BudgetScope | None = spec_field("What counts; left out, everything in this state.")
    thresholds: tuple[Percent, ...] = spec_field(
        "Percentages at which a notice is given, once per period each.", (50, 80, 100), rule="At most 5 of 1 to 100.", max_length=5
    )


class BudgetPeriodWindow(StatusModel):
    """The period that runs."""

    start_time: Time | None = spec_field("When it began.")
    end_time: Time | None = spec_field("When it ends; empty for Total.")


class BudgetStatus(StatusModel):
    """What was spent."""

    spent_usd: Amount | None = spec_field("Charged in the period.")
    held_usd: Amount | None = spec_field("Held in the period.")
    remaining_usd: Amount | None = spec_field("What is left; never below 0.")
    percent_used: Count | None = spec_field("Spend and holds in percent of the limit.")
    current_period: BudgetPeriodWindow | None = spec_field("The period that runs.")
    conditions: tuple[Condition, ...] | None = spec_field("Exceeded.")
    observed_generation: Count | None = spec_field("The generation of the spec this status reflects.")
