"""Buckets of keys: each has a partition of the state to itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as sf

from windrow.spark.buckets import bucket_labels, bucket_of, murmur3, partition_labels

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_puts_each_bucket_into_a_partition_of_its_own(spark: SparkSession) -> None:
    numbers = spark.range(64).select(sf.col("id").cast("int").alias("id"))
    hashes = numbers.select("id", sf.hash("id")).collect()
    assert {row[0]: row[1] for row in hashes} == {n: murmur3(n) for n in range(64)}
    frame = spark.range(500).select(sf.concat(sf.lit("k"), "id").alias("key"))
    labels = partition_labels(5)
    buckets = frame.select(bucket_of(["key"], labels, frame).alias("b")).repartition(5, "b")
    found = {tuple(row) for row in buckets.select("b", sf.spark_partition_id()).collect()}
    assert {label for label, _ in found} == set(labels)
    assert sorted(partition for _, partition in found) == [0, 1, 2, 3, 4]


def test_labels_are_numbers_in_a_row_if_their_number_is_given_or_partitions_are_many() -> None:
    assert bucket_labels(None, ["key"], 2) == partition_labels(2)
    assert bucket_labels(16, ["key"], 2) == range(16)
    assert bucket_labels(None, [], 2) == range(1)
    assert bucket_labels(None, ["key"], 200) == range(16)
