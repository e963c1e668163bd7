import random

import pytest

import wearwell as ww


@pytest.mark.parametrize("page_bytes", [512, 4096, 8192, 16384])
def test_device_returns_written_data(page_bytes):
    device = ww.LiveDevice(
        {
            "device": {
                "blocks_per_plane": 16,
                "pages_per_block": 8,
                "page_size": page_bytes,
                "mapping_unit": page_bytes,
                "spare_factor": 0.4,
            }
        }
    )
    assert device.page_bytes == page_bytes
    rng, model = random.Random(1), {}
    for _ in range(2000):
        page, count = rng.randrange(device.logical_pages - 2), rng.randrange(1, 3)
        if rng.random() < 0.2:
            device.trim(page, count)
            for each in range(page, page + count):
                model.pop(each, None)
        else:
            data = rng.randbytes(page_bytes * count)
            device.write(page, data)
            for at in range(count):
                model[page + at] = data[at * page_bytes :][:page_bytes]
    device.flush()
    device.check()
    for page in range(device.logical_pages):
        assert device.read(page) == model.get(page, bytes(page_bytes))
    counters = device.counters()
    layer = counters["layers"][-1]
    assert layer["name"] == "ftl"
    assert layer["outgoing"]["cleaning"]["write"] > 0
    assert counters["nand"]["programs"] == sum(cause.get("write", 0) for cause in layer["outgoing"].values())


def test_stacked_log_returns_written_data():
    small = {"blocks_per_plane": 64, "pages_per_block": 8, "page_size": 4096, "spare_factor": 0.25}
    device = ww.LiveDevice({"device": small, "log": [{"segment_size": 65536, "spare_factor": 0.4}]})
    for turn in range(5):
        for page in range(device.logical_pages):
            device.write(page, bytes([turn]) * 4096)
    assert device.read(7) == bytes([4]) * 4096
    assert [layer["name"] for layer in device.counters()["layers"]] == ["log0", "ftl"]
    assert device.scenario["log"][0]["name"] == "log0"


def test_any_buffer_type_can_be_written(small):
    device = ww.LiveDevice(small)
    device.write(0, bytearray(b"a" * 8192))
    device.write(2, memoryview(b"b" * 4096))
    assert device.read(1, 2) == b"a" * 4096 + b"b" * 4096
    assert device.read(0, 0) == b""


def test_errors(small):
    device = ww.LiveDevice(small)
    with pytest.raises(ValueError, match="3 bytes are no whole pages of 4096 bytes"):
        device.write(0, b"abc")
    for page, count in [(-1, 1), (device.logical_pages, 1), (0, device.logical_pages + 1), (2**62, 2**62)]:
        with pytest.raises(IndexError, match="the device has pages 0 to 1637"):
            device.read(page, count)
    with pytest.raises(ww.ScenarioError, match="max_bytes is 1000"):
        ww.LiveDevice(small, max_bytes=1000)
    with pytest.raises(ww.ScenarioError, match="pages of 512, 4096, 8192 or 16384"):
        ww.LiveDevice(small, device__mapping_unit=2048, device__page_size=2048)
    with pytest.raises(ww.ScenarioError, match="unknown field"):
        ww.LiveDevice({"device": {"blocks": 3}})
