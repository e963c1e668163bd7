"""MQSim (CMU-SAFARI/MQSim): a drive with channels, dies and a queue; single pages are accessed at random or from a
trace.

MQSim logs means over periods. With a period of a nanosecond, every line is one request, in whole microseconds, which
gives percentiles. Speed is measured in runs without that log.

A case with writes begins with an empty drive and writes more than fits; responses are those of the last third, in
which the drive cleans. The generated traces read only pages that they have written, fill half of the drive and are
measured as a whole: MQSim stops with an error if it has to clean a drive that is both read and written.

The map is in RAM in both programs, except in the case `as MQSim is set`: there, MQSim keeps the map in flash, with
the cache and all other settings of its example, while Wearwell does the same as in the other cases.
"""

import pathlib
import random
import typing
from xml.etree import ElementTree

from peers.common import PAGE_BYTES, SECTOR, PageRequest, PeerError, Run, find, run_wearwell, timed, write_mqsim_trace

NAME = "MQSim"
VARIABLE = "WEARWELL_MQSIM"
HOW_TO_GET = f"git clone https://github.com/CMU-SAFARI/MQSim, run `make` there, and give the folder by --mqsim, by {VARIABLE} or on PATH"

# The drive has 8 channels with 4 chips of 2 dies with 2 planes, MLC.
CHANNELS, CHIPS, DIES, PLANES = 8, 4, 2, 2
BLOCKS, PAGES, SPARE_BYTES = 64, 256, 448
SPARE_FACTOR = 0.127
READ_US, PROGRAM_US, ERASE_US, CHANNEL_MB = 75, 750, 3800, 333
LINK_MB = 4000
# MQSim cleans a plane when this share of it or less is erased.
CLEAN_AT = 0.05
PHYSICAL = CHANNELS * CHIPS * DIES * PLANES * BLOCKS * PAGES
LOGICAL = round(PHYSICAL * (1 - SPARE_FACTOR))

# Name: share of reads, requests at a time, and requests of one page per logical page. Traces have times for their
# requests.
CASES: dict[str, tuple[float, int | None, float]] = {
    "reads, one at a time": (1.0, 1, 0.05),
    "reads, 64 at a time": (1.0, 64, 0.5),
    "writes, one at a time": (0.0, 1, 1.31),
    "writes, 16 at a time": (0.0, 16, 1.31),
    "trace, 4,000 a second": (0.5, None, 1.0),
    "trace, 40,000 a second": (0.5, None, 1.0),
    "writes, 16 at a time, as MQSim is set": (0.0, 16, 1.31),
    "a trace": (0.5, None, 0.0),
}
AS_CONFIGURED = "as MQSim is set"
TRACE = "page.trace"
# Generated traces, with requests per second, at random times. `a trace` is the one given by --trace.
RATES = {"trace, 4,000 a second": 4_000, "trace, 40,000 a second": 40_000}


def element(parent: ElementTree.Element, name: str, text: object) -> None:
    """Add a child with a text."""
    ElementTree.SubElement(parent, name).text = str(text)


def device_file(path: pathlib.Path, logs: bool, as_set: bool) -> None:
    """Write MQSim's description of the drive; with `as_set`, all other settings are those of MQSim's example."""
    root = ElementTree.Element("Execution_Parameter_Set")
    host = ElementTree.SubElement(root, "Host_Parameter_Set")
    for name, value in {
        "PCIe_Lane_Bandwidth": LINK_MB / 4000,
        "PCIe_Lane_Count": 4,
        "SATA_Processing_Delay": 0,
        "Enable_ResponseTime_Logging": str(logs).lower(),
        "ResponseTime_Logging_Period_Length": 1,
    }.items():
        element(host, name, value)
    device = ElementTree.SubElement(root, "Device_Parameter_Set")
    for name, value in {
        "Seed": 321,
        "Enabled_Preconditioning": "false",
        "Memory_Type": "FLASH",
        "HostInterface_Type": "NVME",
        "IO_Queue_Depth": 65535,
        "Queue_Fetch_Size": 512,
        "Caching_Mechanism": "ADVANCED" if as_set else "SIMPLE",
        "Data_Cache_Sharing_Mode": "SHARED",
        "Data_Cache_Capacity": 1 << 20,
        "Data_Cache_DRAM_Row_Size": 8192,
        "Data_Cache_DRAM_Data_Rate": 800,
        "Data_Cache_DRAM_Data_Busrt_Size": 4,
        "Data_Cache_DRAM_tRCD": 13,
        "Data_Cache_DRAM_tCL": 13,
        "Data_Cache_DRAM_tRP": 13,
        "Address_Mapping": "PAGE_LEVEL",
        "Ideal_Mapping_Table": str(not as_set).lower(),
        "CMT_Capacity": 2 << 20,
        "CMT_Sharing_Mode": "SHARED",
        "Plane_Allocation_Scheme": "CWDP",
        "Transaction_Scheduling_Policy": "PRIORITY_OUT_OF_ORDER" if as_set else "OUT_OF_ORDER",
        "Overprovisioning_Ratio": SPARE_FACTOR,
        "GC_Exec_Threshold": CLEAN_AT,
        "GC_Block_Selection_Policy": "RGA" if as_set else "GREEDY",
        "Use_Copyback_for_GC": "false",
        "Preemptible_GC_Enabled": "false",
        "GC_Hard_Threshold": CLEAN_AT / 10,
        "Dynamic_Wearleveling_Enabled": str(as_set).lower(),
        "Static_Wearleveling_Enabled": str(as_set).lower(),
        "Static_Wearleveling_Threshold": 100,
        "Preferred_suspend_erase_time_for_read": 700000,
        "Preferred_suspend_erase_time_for_write": 700000,
        "Preferred_suspend_write_time_for_read": 100000,
        "Flash_Channel_Count": CHANNELS,
        "Flash_Channel_Width": 1,
        "Channel_Transfer_Rate": CHANNEL_MB,
        "Chip_No_Per_Channel": CHIPS,
        "Flash_Comm_Protocol": "NVDDR2",
    }.items():
        element(device, name, value)
    flash = ElementTree.SubElement(device, "Flash_Parameter_Set")
    times = {f"Page_{kind}_Latency_{page}": us * 1000 for kind, us in (("Read", READ_US), ("Program", PROGRAM_US)) for page in ("LSB", "CSB", "MSB")}
    for name, value in {
        "Flash_Technology": "MLC",
        "CMD_Suspension_Support": "ERASE" if as_set else "NONE",
        **times,
        "Block_Erase_Latency": ERASE_US * 1000,
        "Block_PE_Cycles_Limit": 100000,
        "Suspend_Erase_Time": 700000,
        "Suspend_Program_Time": 100000,
        "Die_No_Per_Chip": DIES,
        "Plane_No_Per_Die": PLANES,
        "Block_No_Per_Plane": BLOCKS,
        "Page_No_Per_Block": PAGES,
        "Page_Capacity": PAGE_BYTES,
        "Page_Metadat_Capacity": SPARE_BYTES,
    }.items():
        element(flash, name, value)
    ElementTree.ElementTree(root).write(path, encoding="us-ascii", xml_declaration=True)


def workload_file(path: pathlib.Path, case: str, requests: int) -> None:
    """Write MQSim's description of the requests."""
    reads, depth, _ = CASES[case]
    root = ElementTree.Element("MQSim_IO_Scenarios")
    flows = ElementTree.SubElement(root, "IO_Scenario")
    kind = "Synthetic" if depth else "Trace_Based"
    flow = ElementTree.SubElement(flows, f"IO_Flow_Parameter_Set_{kind}")
    ids = {"Channel": CHANNELS, "Chip": CHIPS, "Die": DIES, "Plane": PLANES}
    common = {
        "Priority_Class": "HIGH",
        "Device_Level_Data_Caching_Mode": "TURNED_OFF",
        **{f"{name}_IDs": ",".join(map(str, range(count))) for name, count in ids.items()},
        "Initial_Occupancy_Percentage": 100,
    }
    synthetic = {
        "Working_Set_Percentage": 100,
        "Synthetic_Generator_Type": "QUEUE_DEPTH",
        "Read_Percentage": round(100 * reads),
        "Address_Distribution": "RANDOM_UNIFORM",
        "Percentage_of_Hot_Region": 0,
        "Generated_Aligned_Addresses": "true",
        "Address_Alignment_Unit": PAGE_BYTES // SECTOR,
        "Request_Size_Distribution": "FIXED",
        "Average_Request_Size": PAGE_BYTES // SECTOR,
        "Variance_Request_Size": 0,
        "Seed": 798,
        "Average_No_of_Reqs_in_Queue": depth,
        "Intensity": 32768,
        "Stop_Time": 0,
        "Total_Requests_To_Generate": requests,
    }
    replay = {
        "File_Path": TRACE,
        "Percentage_To_Be_Executed": 100,
        "Relay_Count": 1,
        "Time_Unit": "NANOSECOND",
    }
    for name, value in {**common, **(synthetic if depth else replay)}.items():
        element(flow, name, value)
    ElementTree.ElementTree(root).write(path, encoding="us-ascii", xml_declaration=True)


def random_requests(reads: float, count: int, rate: float) -> list[PageRequest]:
    """Draw requests of one page at random times; reads go to pages that were written before."""
    draw = random.Random(1)
    time_ns = 0
    # MQSim offers slightly less than the share that is not spare.
    pages = LOGICAL * 99 // 100
    written: list[int] = []
    is_written = bytearray(pages)
    requests = []
    for _ in range(count):
        time_ns += int(draw.expovariate(rate) * 1e9) + 1
        is_read = bool(written) and draw.random() < reads
        page = draw.choice(written) if is_read else draw.randrange(pages)
        if not is_written[page]:
            is_written[page] = 1
            written.append(page)
        requests.append(PageRequest(time_ns, page, is_read))
    return requests


def number_of(text: str, name: str) -> float:
    """Return the number that follows a name in MQSim's result."""
    start = text.index(name) + len(name)
    return float(text[start:].lstrip('=">').split("<")[0].split('"')[0])


def percentile(sorted_numbers: list[float], percent: float) -> float:
    """Return a percentile of numbers in ascending order."""
    return sorted_numbers[min(len(sorted_numbers) - 1, int(len(sorted_numbers) * percent / 100))]


def run_mqsim(program: pathlib.Path, case: str, count: int, folder: pathlib.Path, logs: bool) -> float:
    """Run MQSim on the files of a case; return its CPU time."""
    for old in folder.glob("requests*"):
        old.unlink()
    device_file(folder / "drive.xml", logs, AS_CONFIGURED in case)
    workload_file(folder / "requests.xml", case, count)
    _, seconds = timed([program, "-i", "drive.xml", "-w", "requests.xml"], folder, input="\n\n")
    return seconds


def logged_responses(folder: pathlib.Path, case: str) -> dict[str, float]:
    """Return rate and response times from MQSim's log of all requests."""
    lines = [line.split("\t") for log in folder.glob("requests*.log") for line in log.read_text().split("\n")[1:] if line.count("\t") == 2]
    return summary([float(line[0]) for line in lines], [float(line[1]) for line in lines], measured_share(case))


def run_peer(program: pathlib.Path, case: str, count: int, folder: pathlib.Path, responses: bool) -> Run:
    """Run MQSim; with `responses`, run it a second time with its log."""
    found: dict[str, float] = {}
    if responses:
        run_mqsim(program, case, count, folder, True)
        found = logged_responses(folder, case)
    seconds = run_mqsim(program, case, count, folder, False)
    result = (folder / "requests_scenario_1.xml").read_text()
    programs = number_of(result, "Issued_Flash_Program_CMD") + number_of(result, "Issued_Flash_Multiplane_Program_CMD")
    writes = number_of(result, "<Write_Request_Count>")
    return Run(seconds, programs if writes else 0, count, programs / writes if writes else None, found)


def measured_share(case: str) -> float:
    """Return the share of the requests, at their end, whose responses are measured."""
    reads, depth, _ = CASES[case]
    return 1 / 3 if depth and reads < 1 else 1


def summary(ends_us: list[float], responses_us: list[float], share: float) -> dict[str, float]:
    """Summarise the last `share` of the requests, by the time of their end."""
    order = sorted(range(len(ends_us)), key=lambda at: ends_us[at])
    last = order[round(len(order) * (1 - share)) :]
    kept = sorted(responses_us[at] for at in last)
    return {
        "requests_per_s": (len(last) - 1) / (ends_us[last[-1]] - ends_us[last[0]]) * 1e6,
        "mean_us": sum(kept) / len(kept),
        "p99_us": percentile(kept, 99),
    }


def scenario(case: str, requests: int, writes: int) -> str:
    """Return the same drive and requests as a scenario of Wearwell."""
    reads, depth, _ = CASES[case]
    warm_up = 1 - measured_share(case)
    written = writes / LOGICAL
    fill = "sequential" if reads == 1 else "none"
    lines = [
        "[device]",
        f"channels = {CHANNELS}\nways = {CHIPS}\ndies = {DIES}\nplanes = {PLANES}",
        f"blocks_per_plane = {BLOCKS}\npages_per_block = {PAGES}\npage_size = {PAGE_BYTES}\nspare_size = {SPARE_BYTES}",
        f"spare_factor = {SPARE_FACTOR}",
        "[ftl]\nvictim = 'greedy'\nplacement = 'double'",
        f"free_blocks_low = {round(CLEAN_AT * PHYSICAL / PAGES)}",
        "[timing]",
        f"read_us = {READ_US}.0\nprogram_us = {PROGRAM_US}.0\nerase_us = {ERASE_US}.0\nchannel_mb_per_s = {CHANNEL_MB}.0",
        "striping = 'drive'\nmulti_plane = false\ncleaning = 'background'",
        # Dies of MQSim execute reads first; without reads, the order makes no difference.
        f"priority = '{'read_first' if reads else 'fcfs'}'",
        f"queue_depth = {depth or 65535}",
        f"[precondition]\nfill = '{fill}'",
    ]
    if depth:
        lines.append(f"[workload]\nkind = 'uniform'\nread_ratio = {reads}")
        amount = requests / LOGICAL if reads == 1 else written
    else:
        lines.append(f"[trace]\npath = '{TRACE}'\nformat = 'mqsim'")
        lines.append(f"[measure]\nwarm_up = 0.0\npasses = 1\ndrive_writes = 0.001\nwindow = {written / 12}")
        return "\n".join(lines) + "\n"
    lines.append(f"[measure]\nwarm_up = {amount * warm_up}\ndrive_writes = {amount * (1 - warm_up)}\nwindow = {amount / 12}")
    return "\n".join(lines) + "\n"


def run_wearwell_case(program: str, case: str, count: int, writes: int, folder: pathlib.Path, responses: bool) -> Run:
    """Run Wearwell."""
    result, run = run_wearwell(program, scenario(case, count, writes), folder)
    timing = result["timing"]
    kinds = list(timing["requests"].values())
    measured = sum(kind["requests"] for kind in kinds)
    # A run that only reads lasts until its figures are precise enough, and makes more requests than specified.
    run.requests = measured / measured_share(case)
    # Write counts are those of the whole run, as in MQSim; filling the drive before reads is not included.
    run.page_writes = run.page_writes if writes else 0
    run.write_amplification = run.page_writes / writes if writes else None
    if responses:
        run.responses = {
            "requests_per_s": timing["requests_per_s"],
            "mean_us": sum(kind["mean_ns"] * kind["requests"] for kind in kinds) / measured / 1000,
            "p99_us": percentile_of(kinds, measured, 99) / 1000,
        }
    return run


def percentile_of(kinds: list[dict[str, typing.Any]], count: int, percent: float) -> float:
    """Return a percentile over all kinds of requests together."""
    classes = sorted((float(time), int(number)) for kind in kinds for time, number in kind["histogram"])
    wanted, seen = count * percent / 100, 0
    for time, number in classes:
        seen += number
        if seen >= wanted:
            return time
    raise PeerError("a histogram without requests")


ROWS = {
    "requests per second of simulated time": "requests_per_s",
    "mean response, us": "mean_us",
    "99th percentile, us": "p99_us",
}


def prepare(case: str, given: list[PageRequest], requests: int | None, folder: pathlib.Path) -> tuple[int, int]:
    """Write the trace for a case that replays a trace; return the number of requests and of writes."""
    reads, depth, share = CASES[case]
    count = requests or round(share * LOGICAL)
    if depth is not None:
        return count, round(count * (1 - reads))
    trace = given if case == "a trace" else random_requests(reads, count, RATES[case])
    pages = 1 + max(request.page for request in trace)
    if pages > LOGICAL * 99 // 100:
        raise PeerError(f"the trace writes {pages:,} pages, and MQSim's drive here has room for {LOGICAL * 99 // 100:,}")
    write_mqsim_trace(folder / TRACE, trace)
    return len(trace), sum(not request.is_read for request in trace)


def locate(option: pathlib.Path | None) -> pathlib.Path | None:
    """Return MQSim's program."""
    return find(option, VARIABLE, ["MQSim", "mqsim"])
