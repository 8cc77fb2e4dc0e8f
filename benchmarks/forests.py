"""The ensembles beside CapyMOA's, MOA's pure Java loop and river's: ``python forests.py --markdown forests.md``."""

import records
from matches import Match, run

MATCHES = (
    Match("ARF 100", "Electricity", 10_000, capymoa=25, river=80, river_rows=2_000),
    Match("SDF 600 beside ARF 200", "Electricity", 5_000, capymoa=12),
    Match("ARF 10", "Electricity", 45_312, capymoa=12, java=10),
    Match("ARF 10", "RBF with drift", 20_000, capymoa=12),
    Match("ARF 10", "AGRAWAL with drift", 20_000, capymoa=12),
    Match("ARF 10", "Covtype", 50_000, capymoa=12),
    Match("ARF 10", "Text of 1,000 words", 1_000, capymoa=50),
    Match("leveraging bagging 30", "Electricity", 20_000, capymoa=12),
    Match("leveraging bagging 10", "Electricity", 45_312, capymoa=12, java=5),
    Match("SRP 10", "Electricity", 20_000, capymoa=12),
    Match("smooth boost 30", "Electricity", 20_000, capymoa=12),
    Match("online bagging 10", "Electricity", 45_312, capymoa=12),
)


def stream(name: str) -> records.Records | None:
    """Draw or read a stream."""
    if name == "Electricity":
        return records.electricity()
    if name == "Covtype":
        return records.covtype(50_000)
    made = {"RBF with drift": records.rbf_drift, "AGRAWAL with drift": records.agrawal_drift}
    return made[name]() if name in made else records.text(1_000)


if __name__ == "__main__":
    run("Ensembles", MATCHES, stream)
