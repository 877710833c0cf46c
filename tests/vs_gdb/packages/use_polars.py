"""polars: Rust's thread pool, and Python called from it."""
import polars as pl
from everywhere import forever

FRAME = pl.DataFrame({"key": [i % 97 for i in range(20000)],
                      "value": [float(i * 7919 % 10007) for i in range(20000)]})


def groups():
    return FRAME.lazy().group_by("key").agg(pl.col("value").mean(),
                                            pl.col("value").std().alias(
                                                "spread")).sort("key").collect()


def joins():
    return FRAME.join(FRAME.unique("key"),
                      on="key").sort("value").with_columns(pl.col("value").rolling_mean(5))


def calls_back():
    return FRAME.head(200).with_columns(
        pl.col("value").map_elements(lambda v: sum(range(int(v) % 9)), return_dtype=pl.Int64))


forever(groups, joins, calls_back)
