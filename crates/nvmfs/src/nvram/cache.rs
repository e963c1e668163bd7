//! Write-back of CPU cache lines to memory.

#[cfg(target_arch = "x86_64")]
use super::LINE_BYTES;

/// Instruction that writes back a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteBackInstruction {
    /// Keeps the line in the cache; not ordered with other instructions until a fence.
    #[cfg(target_arch = "x86_64")]
    Clwb,
    /// Evicts the line; not ordered with other instructions until a fence.
    #[cfg(target_arch = "x86_64")]
    Clflushopt,
    /// Evicts the line; instructions of this type are executed one after the other.
    #[cfg(target_arch = "x86_64")]
    Clflush,
    /// No known instruction on this architecture.
    #[cfg(not(target_arch = "x86_64"))]
    Unknown,
}

#[cfg(target_arch = "x86_64")]
impl WriteBackInstruction {
    /// Returns the best instruction of this processor.
    pub(super) fn detect() -> Self {
        let cpu = raw_cpuid::CpuId::new();
        match cpu.get_extended_feature_info() {
            Some(features) if features.has_clwb() => WriteBackInstruction::Clwb,
            Some(features) if features.has_clflushopt() => WriteBackInstruction::Clflushopt,
            _ => WriteBackInstruction::Clflush,
        }
    }

    /// True if cache lines can be written back.
    pub(super) fn is_known(self) -> bool {
        true
    }

    /// Starts the write-back of the lines that contain `bytes`.
    pub(super) fn write_back(self, bytes: &[u8]) {
        let range = bytes.as_ptr_range();
        let first = range.start.wrapping_sub(range.start.addr() % LINE_BYTES);
        let lines = (range.end.addr() - first.addr()).div_ceil(LINE_BYTES);
        // The instruction is selected once, outside the loops.
        match self {
            WriteBackInstruction::Clwb => each_line(first, lines, clwb),
            WriteBackInstruction::Clflushopt => each_line(first, lines, clflushopt),
            WriteBackInstruction::Clflush => each_line(first, lines, clflush),
        }
    }

    /// Waits until the lines that were written back before have reached memory.
    pub(super) fn fence(self) {
        // SAFETY: every x86-64 processor has SSE.
        unsafe { std::arch::x86_64::_mm_sfence() }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn each_line(first: *const u8, lines: usize, write_back: impl Fn(*const u8)) {
    (0..lines).for_each(|line| write_back(first.wrapping_add(line * LINE_BYTES)));
}

// A line lies within a page and contains a byte of a slice, so its address is mapped.

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn clwb(line: *const u8) {
    // SAFETY: the instruction changes no content; `WriteBackInstruction::Clwb` exists only where the processor has it.
    unsafe { std::arch::asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags)) }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn clflushopt(line: *const u8) {
    // SAFETY: the instruction changes no content; `WriteBackInstruction::Clflushopt` exists only where the processor has it.
    unsafe { std::arch::asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags)) }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn clflush(line: *const u8) {
    // SAFETY: the instruction changes no content, and every x86-64 processor has it.
    unsafe { std::arch::x86_64::_mm_clflush(line) }
}

#[cfg(not(target_arch = "x86_64"))]
impl WriteBackInstruction {
    pub(super) fn detect() -> Self {
        WriteBackInstruction::Unknown
    }

    pub(super) fn is_known(self) -> bool {
        false
    }

    pub(super) fn write_back(self, _bytes: &[u8]) {}

    pub(super) fn fence(self) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// The effect of a write-back cannot be observed, so the test checks that no instruction faults or changes
    /// content.
    #[test]
    fn every_write_back_instruction_preserves_content() {
        let bytes: Vec<u8> = (0..1000).map(|at| at as u8).collect();
        let best = WriteBackInstruction::detect();
        let all =
            [WriteBackInstruction::Clwb, WriteBackInstruction::Clflushopt, WriteBackInstruction::Clflush];
        for lines in all.into_iter().skip_while(|&lines| lines != best) {
            for (at, length) in [(0, 1000), (1, 63), (500, 1), (64, 0)] {
                lines.write_back(&bytes[at..at + length]);
            }
            lines.fence();
        }
        assert!(bytes.iter().enumerate().all(|(at, &byte)| byte == at as u8));
    }
}
