"""Prices, caps, Budgets and credits."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "BudgetExceeded": (
        "A Budget with action Block has less left than the first hold of a start needs. What runs goes on; nothing new is started.",
        "See what was spent and what is held, then raise limitUSD, stop something, or ask for a smaller machine:\n"
        "  nodusctl get budgets\n"
        "  nodusctl cost --by object",
    ),
    "CapOverrun": (
        "A machine ended later than its deadline said, so the session cost more than its cap by the amount named. The receipt shows both.",
        "Read the receipt, and see whether the provider ends machines late:\n  nodusctl receipts KIND/NAME\n  nodusctl doctor",
    ),
    "CapTooSmall": (
        "maxCostUSD does not cover one start: boot, the minimum charge and the stop already cost more. A cap that can't "
        "hold is refused instead of being broken later.",
        "Raise maxCostUSD to at least the amount in the message, or choose a cheaper offer:\n  nodusctl offers",
    ),
    "FreeCapacity": (
        "Your own hardware has no hourly rate, so its time counts as $0.00 in estimates, caps and receipts.",
        'Give it a rate in nodusctl.yaml if its time should count:\n  providers: {here: {type: local, rateUSDPerHour: "0.12"}}',
    ),
    "Granted": (
        "A prepaid owner was given credits. The ledger has a posting with the amount, who gave them and why.",
        "Nothing has to be done. See what each owner has:\n  nodusctl credits show",
    ),
    "InsufficientCredits": (
        "The balance of granted credits does not cover the first hold. A state that was never granted anything is "
        "post-paid and never says this.",
        "Grant more, stop something that holds money, or ask for a smaller machine:\n  nodusctl cost",
    ),
    "LedgerUnsound": (
        "Entries of the ledger contradict each other. Nothing in nodusctl can write that, so a file was damaged or edited by hand.",
        "Keep a copy of the state file before anything else, then report it with the output of:\n  nodusctl receipts --json",
    ),
    "PriceMoved": (
        "The price rose above what was reviewed: more than 10 % over the rate in the plan (exit code 12). Nothing was "
        "started. As a note it means a smaller rise, inside the reviewed ceiling.",
        "Plan again and have the new price reviewed:\n  nodusctl plan -o FILE",
    ),
    "PriceOld": (
        "The price is older than it counts as current. It is used all the same and marked, because an old price is better than none.",
        "See its age and source:\n  nodusctl prices show --gpu TYPE",
    ),
    "PriceStale": (
        "The price is older than policy.maxPriceAge allows.",
        "Add a newer price under prices.files in nodusctl.yaml, or raise maxPriceAge:\n  nodusctl prices show",
    ),
    "PriceUnknown": (
        "No price is known for the offer, so what it would cost can't be said. Unknown is never counted as $0.00; totals "
        "then say at least. At apply of a saved plan (exit code 12): a price it was reviewed with is not known any more.",
        "Choose one of the priced offers named, or add the price under prices.files in nodusctl.yaml:\n  nodusctl offers",
    ),
}
