"""Tests of how scripts/profile.py parses the output of perf."""

import runpy

import pytest
from conftest import ROOT

PROFILE = runpy.run_path(str(ROOT / "scripts" / "profile.py"))
LOG_STORE = "wearwell_engine::log::clean::<impl wearwell_engine::log::store::LogStore<M,D,V,P>>::take_victim"
PAGE_TABLE = (
    "<wearwell_engine::log::directory::page_table::PageTable as wearwell_engine::log::directory::Directory>::gather"
)
LAYER = (
    "<wearwell_engine::log::store::LogStore<M,D,V,P> as wearwell_engine::layer::Layer"
    "<<M as wearwell_engine::layer::medium::Medium>::Payload>>::write"
)


def sample(symbol, file="/usr/bin/wearwell"):
    return PROFILE["Sample"]("wearwell", symbol, file)


def test_perf_lines_are_split_into_thread_symbol_and_file():
    text = (
        "wearwell  5581d2 <a::B as c::D>::e (/usr/bin/wearwell)\n"
        "my thread ffffffff81 clear_page_erms ([kernel.kallsyms])\n"
        "wearwell  0 [unknown] ([unknown])\n\n"
    )
    found = PROFILE["read_samples"](text)
    assert [(one.thread, one.symbol, one.file) for one in found] == [
        ("wearwell", "<a::B as c::D>::e", "/usr/bin/wearwell"),
        ("my thread", "clear_page_erms", "[kernel.kallsyms]"),
        ("wearwell", "[unknown]", "[unknown]"),
    ]


def test_line_of_unknown_form_is_an_error():
    with pytest.raises(Exception, match="unknown form: 'nonsense'"):
        PROFILE["read_samples"]("nonsense\n")


@pytest.mark.parametrize(
    ("symbol", "name", "is_engine"),
    [
        (LOG_STORE, "LogStore::take_victim (engine)", True),
        (PAGE_TABLE, "PageTable::gather (engine)", True),
        (LAYER, "LogStore::write (engine)", True),
        (
            "<wearwell_workload::stream::Stream<A> as wearwell_workload::Workload>::fill",
            "Stream::fill (workload)",
            False,
        ),
        ("<&mut F as core::ops::function::FnOnce<A>>::call_once", "FnOnce::call_once (core)", False),
        ("wearwell_theory::mean_field::solve::{{closure}}", "mean_field::solve (theory)", False),
        ("<alloc::vec::Vec<T> as core::iter::Extend<fn() -> u8>>::extend", "Vec::extend (alloc)", False),
        ("alloc::raw_vec::RawVec<T,A>::grow_one", "memory allocation", False),
        ("hashbrown::map::HashMap<K,V,S,A>::insert::h0123456789abcdef", "HashMap::insert (hashbrown)", False),
    ],
)
def test_rust_symbol_has_a_short_name_and_a_crate(symbol, name, is_engine):
    assert PROFILE["group_of"](sample(symbol)) == (name, is_engine)


@pytest.mark.parametrize(
    ("symbol", "file", "name"),
    [
        ("_int_malloc", "/lib/libc.so.6", "memory allocation"),
        ("cfree@GLIBC_2.2.5", "/lib/libc.so.6", "memory allocation"),
        ("__memmove_avx512_unaligned_erms", "/lib/libc.so.6", "copying and filling memory"),
        ("clear_page_erms", "[kernel.kallsyms]", "kernel"),
        ("__ieee754_pow_fma", "/lib/libm.so.6", "__ieee754_pow_fma (libm)"),
        ("[unknown]", "/lib/libgcc_s.so.1", "unknown function of libgcc_s.so.1"),
        ("_PyEval_EvalFrameDefault", "/usr/bin/python3.12", "Python interpreter"),
    ],
)
def test_sample_outside_rust_code_is_named_by_kind(symbol, file, name):
    assert PROFILE["group_of"](sample(symbol, file)) == (name, False)


def test_summary_separates_engine_and_names_top_kernel_function():
    samples = [sample(LOG_STORE)] * 6 + [sample("malloc", "/lib/libc.so.6")]
    samples += [sample("clear_page_erms", "[kernel.kallsyms]")] * 2 + [sample("xas_find", "[kernel.kallsyms]")]
    assert PROFILE["summary"](samples) == (
        10,
        0.6,
        [("kernel (most in clear_page_erms)", 0.3), ("memory allocation", 0.1)],
    )


def test_summary_of_no_samples_is_empty():
    assert PROFILE["summary"]([]) == (0, 0.0, [])


def test_cpu_time_includes_only_child_processes():
    assert PROFILE["cpu_seconds"]("warning\n0m0.00s 0m0.01s\n1m1.50s 0m0.25s\n") == (61.5, 0.25)


def test_case_is_chosen_by_name_or_prefix():
    assert PROFILE["chosen"](["sweep"]) == ["sweep"]
    assert PROFILE["chosen"](["limit"]) == ["limit"]
    assert PROFILE["chosen"](["theory"]) == [case for case in PROFILE["CASES"] if case.startswith("theory")]
    with pytest.raises(Exception, match="--list"):
        PROFILE["chosen"](["no such case"])


def test_every_command_names_files_that_are_made(tmp_path):
    commands = " ".join(PROFILE["CASES"].values()).replace("{trace}", "").replace("{long}", "").replace("{replay}", "")
    files = PROFILE["prepare"](tmp_path, "wearwell", commands.replace("{result}", ""))
    for command in PROFILE["CASES"].values():
        assert "{" not in command.format(**files)
