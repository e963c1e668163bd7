//! Link and controller of the drives on which presets are modelled.

/// Link and controller of a product, for a preset.
#[derive(Clone, Copy, Debug)]
pub struct DriveFrontEnd {
    /// Name of the preset.
    pub preset: &'static str,
    /// Drive that the data sheet describes.
    pub product: &'static str,
    /// Rate of the link in each direction, in megabytes (10^6 bytes) per second.
    pub host_mb_per_s: f64,
    /// Microseconds of the controller for each read, one request after the other.
    pub controller_read_us: f64,
    /// Microseconds of the controller for each write, one request after the other.
    pub controller_write_us: f64,
    /// Field name and source of its value, for the three values above.
    pub notes: &'static [(&'static str, &'static str)],
}

const AS_READ: &str =
    "assumed: equal to the read time; random writes on the data sheet, if any, are limited by the flash";
const P300: &str = "Micron's figures at storage-switzerland.com, 15 November 2010";
const READ_97K: &str = "derived: 97,000 random reads per second, Samsung 860 QVO, as listed at \
     gamingpc2020.blogspot.com, March 2020";

/// All presets that model a drive; the other presets, from papers, serve for counting only.
pub static FRONT_ENDS: &[DriveFrontEnd] = &[
    DriveFrontEnd {
        preset: "slc",
        product: "Micron RealSSD P300, 200 GB",
        host_mb_per_s: 360.0,
        controller_read_us: 19.5,
        controller_write_us: 22.1,
        notes: &[
            ("host_mb_per_s", P300),
            (
                "controller_read_us",
                "derived: the geometric mean of 60,000 and 44,000 random reads per second (fresh and \
                 steady); Micron's figures at storage-switzerland.com, 15 November 2010",
            ),
            (
                "controller_write_us",
                "derived: 45,200 random writes per second (fresh); Micron's figures at \
                 storage-switzerland.com, 15 November 2010",
            ),
        ],
    },
    DriveFrontEnd {
        preset: "mlc",
        product: "Intel SSD DC P3500, 2 TB",
        host_mb_per_s: 2700.0,
        controller_read_us: 2.3,
        controller_write_us: 2.3,
        notes: &[
            ("host_mb_per_s", "Intel, product specification 332164-003US, first page, read at vdocument.in"),
            (
                "controller_read_us",
                "assumed: 430,000 random reads per second, a little below the 450,000 of the P3700 of the \
                 same family (tomshardware.com, 13 August 2014); the first page of the specification gives \
                 no such rate",
            ),
            ("controller_write_us", AS_READ),
        ],
    },
    DriveFrontEnd {
        preset: "tlc",
        product: "Samsung PM983, 1.92 TB",
        host_mb_per_s: 3200.0,
        controller_read_us: 1.85,
        controller_write_us: 1.85,
        notes: &[
            (
                "host_mb_per_s",
                "assumed: as in the SZ985 of the same maker and year (tomshardware.com, Samsung Releases \
                 SZ985 Z-SSD); the copy of the data sheet that was read lacks the sequential rates",
            ),
            (
                "controller_read_us",
                "derived: 540,000 random reads per second, Samsung, data sheet of the PM983, revision 1.0 \
                 of January 2018, read at manualmachine.com",
            ),
            ("controller_write_us", AS_READ),
        ],
    },
    DriveFrontEnd {
        preset: "qlc",
        product: "Samsung 860 QVO, 2 TB",
        host_mb_per_s: 550.0,
        controller_read_us: 10.3,
        controller_write_us: 11.2,
        notes: &[
            ("host_mb_per_s", "Samsung 860 QVO, as listed at gamingpc2020.blogspot.com, March 2020"),
            ("controller_read_us", READ_97K),
            (
                "controller_write_us",
                "derived: 89,000 random writes per second into the SLC cache, as listed at \
                 gamingpc2020.blogspot.com, March 2020",
            ),
        ],
    },
    DriveFrontEnd {
        preset: "z_nand",
        product: "Samsung SZ985, 800 GB",
        host_mb_per_s: 3400.0,
        controller_read_us: 1.33,
        controller_write_us: 1.33,
        notes: &[
            (
                "host_mb_per_s",
                "assumed: 3,400 MB/s, a little above the 3,200 MB/s at tomshardware.com (Samsung Releases SZ985 Z-SSD)",
            ),
            (
                "controller_read_us",
                "derived: 750,000 random reads per second, at tomshardware.com (Samsung Releases SZ985 \
                 Z-SSD)",
            ),
            ("controller_write_us", AS_READ),
        ],
    },
    DriveFrontEnd {
        preset: "xl_flash",
        product: "Kioxia FL6, 3.2 TB",
        host_mb_per_s: 6200.0,
        controller_read_us: 0.667,
        controller_write_us: 0.667,
        notes: &[
            (
                "host_mb_per_s",
                "edgedatacenters.nl, 20 September 2021 (Kioxia revisits SLC flash to power FL6)",
            ),
            (
                "controller_read_us",
                "derived: 1,500,000 random reads per second, edgedatacenters.nl, 20 September 2021",
            ),
            ("controller_write_us", AS_READ),
        ],
    },
    DriveFrontEnd {
        preset: "x25_e",
        product: "Intel X25-E, 64 GB",
        host_mb_per_s: 250.0,
        controller_read_us: 28.6,
        controller_write_us: 303.0,
        notes: &[
            (
                "host_mb_per_s",
                "techreport.com/review/15931/intel-x25-e-extreme-solid-state-drive, 23 November 2008",
            ),
            (
                "controller_read_us",
                "assumed: 35,000 random reads per second, as in Intel's X25-M of 34 nm (AnandTech, Intel's \
                 3rd Generation X25-M SSD Specs Revealed); no source for the X25-E was read",
            ),
            (
                "controller_write_us",
                "assumed: 3,300 random writes per second, quoted by another source from Intel's data sheet, \
                 which was not read",
            ),
        ],
    },
];
