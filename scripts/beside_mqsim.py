#!/usr/bin/env python3
"""Run MQSim and Wearwell on the same drive and the same requests, and set their numbers side by side.

    scripts/beside_mqsim.py MQSIM [--wearwell PROGRAM] [--case NAME ...] [--requests N] [--folder FOLDER]
                            [--markdown FILE] [--json FILE]

MQSIM is the program that `make` builds in a checkout of CMU-SAFARI/MQSim; it is not part of this project, and neither are its files:
what it reads is written here, by its documented names, and so is the trace that both replay.

Of each case: requests a second of the drive, mean and 99th percentile of the response, pages programmed for each that was written, and
requests that the program simulates in a second of processor time. MQSim logs means of periods; with a period of a nanosecond every line
is one request, whole microseconds, which is where its percentiles come from. Speed is measured in runs without that log.

A case with writes begins with an empty drive and asks for more than fits; of it the last third is measured, in which the drive cleans. The
traces read only what they have written, fill half of the drive and are measured whole: MQSim stops with an error where it has to clean a drive
that is read and written.

The map is in RAM in both programs, but for the case `as MQSim is set`: there MQSim keeps it in flash, with the cache and all else as its
own example has it, while Wearwell does as in the other cases. That is the case by which the speed of the two was compared from the beginning.
"""

import argparse
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent.parent

# The drive: 8 channels of 4 chips of 2 dies of 2 planes, MLC.
CHANNELS, CHIPS, DIES, PLANES = 8, 4, 2, 2
BLOCKS, PAGES, PAGE_BYTES, SPARE_BYTES = 64, 256, 4096, 448
SPARE_FACTOR = 0.127
READ_US, PROGRAM_US, ERASE_US, CHANNEL_MB = 75, 750, 3800, 333
LINK_MB = 4000
# MQSim cleans a plane when so much of it is erased or less.
CLEAN_AT = 0.05
PHYSICAL = CHANNELS * CHIPS * DIES * PLANES * BLOCKS * PAGES
LOGICAL = round(PHYSICAL * (1 - SPARE_FACTOR))
SECTOR = 512

# Name: share of reads, requests at a time, requests of a page each for each logical page. `trace` has times of its own.
CASES = {
    "reads, one at a time": (1.0, 1, 0.05),
    "reads, 64 at a time": (1.0, 64, 0.5),
    "writes, one at a time": (0.0, 1, 1.31),
    "writes, 16 at a time": (0.0, 16, 1.31),
    "trace, 4,000 a second": (0.5, None, 1.0),
    "trace, 40,000 a second": (0.5, None, 1.0),
    "writes, 16 at a time, as MQSim is set": (0.0, 16, 1.31),
}
AS_SET = "as MQSim is set"
# Of the traces: requests a second, at random times.
RATES = {"trace, 4,000 a second": 4_000, "trace, 40,000 a second": 40_000}


class Failure(Exception):
    pass


def element(parent, name, text):
    xml.SubElement(parent, name).text = str(text)


def device_file(path, logs, as_set):
    """MQSim's description of the drive; `as_set`: what does not belong to the drive as MQSim's example has it."""
    root = xml.Element("Execution_Parameter_Set")
    host = xml.SubElement(root, "Host_Parameter_Set")
    for name, value in {
        "PCIe_Lane_Bandwidth": LINK_MB / 4000,
        "PCIe_Lane_Count": 4,
        "SATA_Processing_Delay": 0,
        "Enable_ResponseTime_Logging": str(logs).lower(),
        "ResponseTime_Logging_Period_Length": 1,
    }.items():
        element(host, name, value)
    device = xml.SubElement(root, "Device_Parameter_Set")
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
    flash = xml.SubElement(device, "Flash_Parameter_Set")
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
    xml.ElementTree(root).write(path, encoding="us-ascii", xml_declaration=True)


def workload_file(path, case, requests, trace):
    """MQSim's description of the requests."""
    reads, depth, _ = CASES[case]
    root = xml.Element("MQSim_IO_Scenarios")
    scenario = xml.SubElement(root, "IO_Scenario")
    kind = "Synthetic" if depth else "Trace_Based"
    flow = xml.SubElement(scenario, f"IO_Flow_Parameter_Set_{kind}")
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
        "File_Path": trace,
        "Percentage_To_Be_Executed": 100,
        "Relay_Count": 1,
        "Time_Unit": "NANOSECOND",
    }
    for name, value in {**common, **(synthetic if depth else replay)}.items():
        element(flow, name, value)
    xml.ElementTree(root).write(path, encoding="us-ascii", xml_declaration=True)


def trace_file(path, reads, requests, rate):
    """Requests of a page at random times, reads of what was written before; MQSim's text format."""
    draw = random.Random(1)
    time_ns = 0
    # MQSim shows a little less than the share that is not spare.
    pages = LOGICAL * 99 // 100
    written, is_written = [], bytearray(pages)
    with path.open("w") as file:
        for _ in range(requests):
            time_ns += int(draw.expovariate(rate) * 1e9) + 1
            is_read = bool(written) and draw.random() < reads
            page = draw.choice(written) if is_read else draw.randrange(pages)
            if not is_written[page]:
                is_written[page] = 1
                written.append(page)
            file.write(f"{time_ns} 0 {page * (PAGE_BYTES // SECTOR)} {PAGE_BYTES // SECTOR} {int(is_read)}\n")


def timed(command, folder, **options):
    """Standard output of a command, and the processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout[-500:]}{done.stderr[-2000:]}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def number_of(text, name):
    start = text.index(name) + len(name)
    return float(text[start:].lstrip('=">').split("<")[0].split('"')[0])


def percentile(sorted_numbers, percent):
    return sorted_numbers[min(len(sorted_numbers) - 1, int(len(sorted_numbers) * percent / 100))]


def mqsim(program, case, requests, folder, trace):
    """What MQSim says of a case."""
    reads = CASES[case][0]
    found = {}
    for logs in (True, False):
        for old in folder.glob("requests*"):
            if old != trace:
                old.unlink()
        device_file(folder / "drive.xml", logs, AS_SET in case)
        workload_file(folder / "requests.xml", case, requests, trace)
        _, seconds = timed([program, "-i", "drive.xml", "-w", "requests.xml"], folder, input="\n\n")
        result = (folder / "requests_scenario_1.xml").read_text()
        if not logs:
            found["simulated_per_s"] = requests / seconds
            break
        lines = [log.read_text().split("\n")[1:] for log in folder.glob("requests*.log")]
        lines = [line.split("\t") for line in sum(lines, []) if line.count("\t") == 2]
        ends_us = [float(line[0]) for line in lines]
        responses_us = [float(line[1]) for line in lines]
        found |= summary(ends_us, responses_us, measured_share(case))
        programs = number_of(result, "Issued_Flash_Program_CMD")
        multi = number_of(result, "Issued_Flash_Multiplane_Program_CMD")
        writes = number_of(result, "<Write_Request_Count>")
        found["programs_per_write"] = (programs + multi) / writes if reads < 1 and writes else None
    return found


def measured_share(case):
    """Which share of the requests is measured, the last."""
    reads, depth, _ = CASES[case]
    return 1 / 3 if depth and reads < 1 else 1


def summary(ends_us, responses_us, share):
    """That share of the requests, the last by the time of their end."""
    order = sorted(range(len(ends_us)), key=lambda at: ends_us[at])
    last = order[round(len(order) * (1 - share)) :]
    kept = sorted(responses_us[at] for at in last)
    return {
        "requests_per_s": (len(last) - 1) / (ends_us[last[-1]] - ends_us[last[0]]) * 1e6,
        "mean_us": sum(kept) / len(kept),
        "p99_us": percentile(kept, 99),
    }


def scenario(case, requests, trace, warm_up):
    """The same drive and requests in Wearwell's words; what comes before the share `warm_up` is not measured."""
    reads, depth, _ = CASES[case]
    written = requests * (1 - reads) / LOGICAL
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
        # MQSim's dies do reads first; where there are none it is all the same.
        f"priority = '{'read_first' if reads else 'fcfs'}'",
        f"queue_depth = {depth or 65535}",
        f"[precondition]\nfill = '{fill}'",
    ]
    if depth:
        lines.append(f"[workload]\nkind = 'uniform'\nread_ratio = {reads}")
        amount = requests / LOGICAL if reads == 1 else written
    else:
        lines.append(f"[trace]\npath = '{trace}'\nformat = 'mqsim'")
        lines.append(f"[measure]\nwarm_up = 0.0\npasses = 1\ndrive_writes = 0.001\nwindow = {written / 12}")
        return "\n".join(lines) + "\n"
    lines.append(f"[measure]\nwarm_up = {amount * warm_up}\ndrive_writes = {amount * (1 - warm_up)}\nwindow = {amount / 12}")
    return "\n".join(lines) + "\n"


def wearwell(program, case, requests, folder, trace):
    """What Wearwell says of it."""
    path = folder / "scenario.toml"
    warm_up = 1 - measured_share(case)
    path.write_text(scenario(case, requests, trace, warm_up))
    text, seconds = timed([program, "run", path, "--quiet", "--format", "json"], folder)
    result = json.loads(text)
    timing = result["timing"]
    kinds = timing["requests"].values()
    count = sum(kind["requests"] for kind in kinds)
    return {
        "requests_per_s": timing["requests_per_s"],
        "mean_us": sum(kind["mean_ns"] * kind["requests"] for kind in kinds) / count / 1000,
        "p99_us": percentile_of(kinds, count, 99) / 1000,
        "programs_per_write": result["write_amplification"],
        # Those before the measurement included.
        "simulated_per_s": count / (1 - warm_up) / seconds,
    }


def percentile_of(kinds, count, percent):
    """Of all kinds of requests together."""
    classes = sorted((time, number) for kind in kinds for time, number in kind["histogram"])
    wanted, seen = count * percent / 100, 0
    for time, number in classes:
        seen += number
        if seen >= wanted:
            return time
    raise Failure("a histogram without requests")


ROWS = {
    "requests a second of the drive": ("requests_per_s", 0),
    "mean response, us": ("mean_us", 0),
    "99 % within, us": ("p99_us", 0),
    "programs for each page written": ("programs_per_write", 3),
    "requests simulated a second": ("simulated_per_s", 0),
}


def table(results):
    lines = ["| case | | MQSim | Wearwell | ratio |", "|---|---|---|---|---|"]
    for case, (theirs, ours) in results.items():
        for title, (key, digits) in ROWS.items():
            if theirs[key] is None or ours[key] is None:
                continue
            ratio = ours[key] / theirs[key]
            lines.append(f"| {case} | {title} | {theirs[key]:,.{digits}f} | {ours[key]:,.{digits}f} | {ratio:.2f} |")
    return "\n".join(lines) + "\n"


def run(options, folder):
    results = {}
    for case in options.case or CASES:
        reads, depth, share = CASES[case]
        requests = options.requests or round(share * LOGICAL)
        trace = folder / "requests.trace"
        if depth is None:
            trace_file(trace, reads, requests, RATES[case])
        theirs = mqsim(options.mqsim.resolve(), case, requests, folder, trace)
        results[case] = (theirs, wearwell(options.wearwell, case, requests, folder, trace))
        print(table({case: results[case]}), flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mqsim", type=pathlib.Path, help="MQSim's program")
    parser.add_argument("--wearwell", default=str(HERE / "target" / "release" / "wearwell"), help="the program")
    parser.add_argument("--case", action="append", choices=CASES, help="only this one; may be repeated")
    parser.add_argument("--requests", type=int, help="requests of each case, in place of its own number")
    parser.add_argument("--folder", type=pathlib.Path, help="keep what is written for the runs there")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the table there")
    parser.add_argument("--json", type=pathlib.Path, help="write the numbers there")
    options = parser.parse_args()
    if not options.mqsim.is_file():
        raise Failure(f"{options.mqsim} is no program; clone CMU-SAFARI/MQSim, run make there, and give the path of MQSim")
    # Both programs run in the folder of the files that they read.
    options.mqsim = options.mqsim.resolve()
    if "/" in options.wearwell:
        options.wearwell = str(pathlib.Path(options.wearwell).resolve())
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or pathlib.Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        results = run(options, folder)
    if options.markdown:
        options.markdown.write_text(table(results))
    if options.json:
        named = {case: {"mqsim": theirs, "wearwell": ours} for case, (theirs, ours) in results.items()}
        options.json.write_text(json.dumps(named, indent=2) + "\n")


if __name__ == "__main__":
    try:
        main()
    except (Failure, OSError) as failure:
        sys.exit(f"error: {failure}")
