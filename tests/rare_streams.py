"""Two streams like those that people bring: customers who leave, and card payments of which a few are frauds.

    python tests/rare_streams.py churn.csv fraud.csv      # writes them

Same numbers everywhere: nothing but a seed goes in. The signal is weak on purpose, and changes half-way.
"""

import csv
import datetime
import sys

import numpy as np

PLANS = np.array(["basic", "plus", "family", "business"])
WORDS = [
    "fine", "slow", "thanks", "cancel", "bill", "again", "broken", "please",
    "late", "support", "price", "great", "waiting", "call", "nobody",
]  # fmt: skip


def churn(rows=20_000, seed=7):
    """Give a table of customers by column: id, date, numbers, nominal text, a note; about 7 in 100 leave."""
    rng = np.random.default_rng(seed)
    months = np.minimum(rng.exponential(24.0, rows), 120.0).round()
    charge = rng.normal(40.0, 12.0, rows).clip(5.0).round(2)
    calls = rng.poisson(1.2, rows)
    plan = rng.choice(4, rows, p=(0.5, 0.3, 0.15, 0.05))
    autopay = rng.random(rows) < 0.6
    noise = rng.normal(size=rows)
    later = np.arange(rows) > rows // 2  # prices rise: from then on the charge matters
    logit = -3.05 - 0.018 * months + 0.5 * calls + 0.5 * (plan == 0) - 0.7 * autopay + 0.035 * later * (charge - 40)
    left = rng.random(rows) < 1.0 / (1.0 + np.exp(-(logit + 0.8 * noise)))
    chosen = rng.integers(len(WORDS), size=(rows, 4))
    unhappy = left & (rng.random(rows) < 0.25)
    chosen[unhappy, 0] = WORDS.index("cancel")
    first = datetime.date(2022, 1, 1)
    return {
        "customer_id": [f"C{100_000 + i}" for i in range(rows)],
        "signup": [(first + datetime.timedelta(days=int(i * 700 / rows))).isoformat() for i in range(rows)],
        "months": months, "charge": charge, "calls": calls, "plan": PLANS[plan], "autopay": autopay,
        "note": [" ".join(WORDS[k] for k in words) for words in chosen],
        "churned": np.where(left, "yes", "no"),
    }  # fmt: skip


def fraud(rows=200_000, seed=11):
    """Give a table of payments by column: amount, hour, distance and so on; about 4 in 1,000 are frauds."""
    rng = np.random.default_rng(seed)
    bad = rng.random(rows) < 0.004
    later = np.arange(rows) > rows // 2  # another ring takes over: small amounts, abroad
    amount = np.exp(rng.normal(3.2, 1.0, rows) + bad * np.where(later, -0.6, 1.1)).round(2)
    hour = (rng.normal(14.0, 5.0, rows) + bad * np.where(later, 0.0, 8.0)) % 24.0
    distance = np.exp(rng.normal(1.5, 1.2, rows) + 1.2 * bad).round(1)
    minutes = np.exp(rng.normal(5.0, 1.6, rows) - 1.0 * bad).round()
    abroad = rng.random(rows) < np.where(bad & later, 0.5, 0.06)
    kind = rng.choice(np.array(["shop", "fuel", "web", "travel", "cash"]), rows, p=(0.45, 0.15, 0.25, 0.05, 0.1))
    return {
        "amount": amount, "hour": hour.round(2), "distance": distance, "minutes_since_last": minutes, "abroad": abroad,
        "kind": kind, "class": np.where(bad, "fraud", "fine"),
    }  # fmt: skip


def write(table, path):
    """Write a table as CSV."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(np.asarray(column).tolist() for column in table.values()), strict=True))


if __name__ == "__main__":
    write(churn(), sys.argv[1])
    write(fraud(), sys.argv[2])
