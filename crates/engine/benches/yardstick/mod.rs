//! Speed limit of the machine's memory: prefetched random updates of a table.
//!
//! The loop is written in assembly where supported, so that every build of every commit runs the same instructions at
//! the same alignment. A compiled loop depends on the surrounding code, and varied by a fifth from one commit to the
//! next.

use cpu_time::ThreadTime;
use wearwell_base::table;

/// Updates between the prefetch of an entry and its update.
const DISTANCE: usize = 64;

#[repr(align(64))]
struct Ring([u64; DISTANCE]);

/// A table of `u32` and the state of a generator of its indices.
pub struct Yardstick {
    table: Vec<u32>,
    /// Entries being prefetched.
    ring: Ring,
    /// State of xoshiro256++ (Blackman and Vigna, 2021).
    state: [u64; 4],
}

impl Yardstick {
    /// Creates a table of `entries` entries.
    pub fn new(entries: usize) -> Self {
        let state =
            [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xd6e8_feb8_6659_fd93];
        Yardstick { table: table::filled(entries, 1), ring: Ring([0; DISTANCE]), state }
    }

    /// Returns the CPU time of each of `updates` updates, in ns.
    pub fn measure(&mut self, updates: u64) -> f64 {
        let start = ThreadTime::now();
        self.update(updates);
        start.elapsed().as_nanos() as f64 / updates as f64
    }

    /// Draws an entry, prefetches it and updates the entry drawn 64 draws before. Repeats this `updates` times, at
    /// least once.
    #[cfg(target_arch = "x86_64")]
    #[inline(never)]
    fn update(&mut self, updates: u64) {
        let [mut s0, mut s1, mut s2, mut s3] = self.state;
        // SAFETY: the high half of the product of a random word and the number of entries is below that number, as
        // are all values in the ring; the ring's index is below its length. The registers written are declared, the
        // stack is not touched.
        unsafe {
            std::arch::asm!(
                ".p2align 6",
                "2:",
                "lea rax, [{s0} + {s3}]",
                "rol rax, 23",
                "add rax, {s0}",
                "mov {t}, {s1}",
                "shl {t}, 17",
                "xor {s2}, {s0}",
                "xor {s3}, {s1}",
                "xor {s1}, {s2}",
                "xor {s0}, {s3}",
                "xor {s2}, {t}",
                "rol {s3}, 45",
                "mul {entries}",
                "prefetcht0 [{table} + 4*rdx]",
                "mov {t}, {at}",
                "and {t}, 63",
                "mov rax, [{ring} + 8*{t}]",
                "mov [{ring} + 8*{t}], rdx",
                "add dword ptr [{table} + 4*rax], {at:e}",
                "add {at}, 1",
                "cmp {at}, {updates}",
                "jb 2b",
                s0 = inout(reg) s0,
                s1 = inout(reg) s1,
                s2 = inout(reg) s2,
                s3 = inout(reg) s3,
                t = out(reg) _,
                at = inout(reg) 0u64 => _,
                updates = in(reg) updates,
                entries = in(reg) self.table.len() as u64,
                table = in(reg) self.table.as_mut_ptr(),
                ring = in(reg) self.ring.0.as_mut_ptr(),
                out("rax") _,
                out("rdx") _,
                options(nostack),
            );
        }
        self.state = [s0, s1, s2, s3];
    }

    /// Portable version of the loop, without assembly.
    #[cfg(not(target_arch = "x86_64"))]
    fn update(&mut self, updates: u64) {
        self.update_portably(updates);
    }

    #[inline(never)]
    fn update_portably(&mut self, updates: u64) {
        let [s0, s1, s2, s3] = &mut self.state;
        for at in 0..updates {
            let word = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
            let t = *s1 << 17;
            *s2 ^= *s0;
            *s3 ^= *s1;
            *s1 ^= *s2;
            *s0 ^= *s3;
            *s2 ^= t;
            *s3 = s3.rotate_left(45);
            let next = ((u128::from(word) * self.table.len() as u128) >> 64) as u64;
            let index = std::mem::replace(&mut self.ring.0[at as usize % DISTANCE], next);
            self.table[index as usize] = self.table[index as usize].wrapping_add(at as u32);
        }
    }
}

/// Checks that both versions of the loop leave the same table.
pub fn check() {
    let [mut one, mut other] = [1000, 1000].map(Yardstick::new);
    one.update(5000);
    other.update_portably(5000);
    assert!(one.table == other.table && one.state == other.state, "the yardstick's two loops differ");
}
