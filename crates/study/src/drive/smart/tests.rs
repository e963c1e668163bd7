use super::*;
use serde_json::json;

fn read(text: &str) -> Result<SmartReport, ReportError> {
    SmartReport::read("report.json", text)
}

/// Older and newer forms of the same log of nvme-cli.
#[test]
fn smart_log_is_read_in_old_and_new_formats() {
    let older = json!({
        "critical_warning": 0, "avail_spare": 97, "spare_thresh": 10, "percent_used": 12,
        "data_units_read": 27_462_514, "data_units_written": 1_500_000, "power_on_hours": 8760,
    });
    let newer = json!({
        "avail_spare": 97, "percentage_used": 12, "data_units_written": "1,500,000", "power_on_hours": "8760",
    });
    for report in [older, newer].map(|value| read(&value.to_string()).unwrap()) {
        let host = report.host.unwrap();
        assert_eq!((host.amount().value, host.amount().low), (768e9, 768e9 - 512_000.0));
        assert_eq!(report.percentage_used.unwrap().count, 12.0);
        assert_eq!(report.power_on_hours.unwrap().count, 8760.0);
        assert_eq!((report.available_spare, report.media), (Some(97.0), None));
    }
}

/// Concatenated documents in a file, as written by `nvme ... >> file`.
#[test]
fn concatenated_logs_of_nvme_cli_are_read() {
    let health = json!({ "data_units_written": 1000, "percent_used": 1, "power_on_hours": 10 });
    let v1 = json!({
        "Physical media units written": { "hi": 0, "lo": 1_280_000_000u64 },
        "Bad user nand blocks - Raw": 3, "Max User data erase counts": 90, "Min User data erase counts": 70,
    });
    let v2 = json!({
        "physical_media_units_written": { "hi": 0, "lo": 1_280_000_000u64 },
        "bad_user_nand_blocks_raw": 3, "max_user_data_erase_count": 90, "min_user_data_erase_count": 70,
    });
    let controller = json!({ "sn": "S1 ", "mn": "Drive", "tnvmcap": "1920383410176" });
    let namespace = json!({
        "nsze": 1000, "nuse": 600, "flbas": 1, "lbafs": [{ "ms": 0, "ds": 9 }, { "ms": 0, "ds": 12 }],
    });
    let texts = [&v1, &v2].map(|ocp| format!("{health}\n{ocp}{controller}\n{namespace}"));
    let [first, second] = texts.map(|text| read(&text).unwrap());
    assert_eq!(first, second);
    assert_eq!(first.media.unwrap().amplification(first.host.unwrap().amount()).value, 2.5);
    let erases = first.erases.unwrap();
    assert_eq!((erases.mean, erases.is_mean), (Interval { value: 80.0, low: 70.0, high: 90.0 }, false));
    assert_eq!((first.serial.as_deref(), first.bad_blocks), (Some("S1"), Some(3.0)));
    assert_eq!((first.capacity_bytes, first.utilised_bytes), (Some(1_920_383_410_176), Some(600 * 4096)));
    let intel = json!({ "Device stats": {
        "nand_bytes_written": { "normalized": 100, "raw": 700 },
        "host_bytes_written": { "normalized": 100, "raw": 200 },
    }});
    let media = read(&format!("{health}{intel}")).unwrap().media.unwrap();
    assert_eq!(
        (media.amplification(Interval::exact(1.0)).value, media.amplification(Interval::exact(1.0)).low),
        (3.5, 699.0 / 201.0)
    );
    let group = json!({ "data_units_written": 1, "media_units_written": 7 });
    let media = read(&format!("{health}{group}")).unwrap().media;
    assert_eq!(
        media,
        Some(MediaWrites::Bytes(Counter::new("endurance group's media_units_written", 7.0, 1e9)))
    );
}

use crate::drive::interval::Interval;

fn ata(attributes: &[(u32, &str, u64, u64)], more: serde_json::Value) -> Result<SmartReport, ReportError> {
    let table: Vec<_> = attributes
        .iter()
        .map(|(id, name, value, raw)| json!({ "id": id, "name": name, "value": value, "raw": { "value": raw } }))
        .collect();
    let mut report = json!({
        "smartctl": { "version": [7, 3] }, "model_name": "Samsung SSD 883 DCT", "serial_number": "A",
        "logical_block_size": 512, "user_capacity": { "blocks": 1, "bytes": 960_197_124_096u64 },
        "power_on_time": { "hours": 100 }, "local_time": { "time_t": 1_700_000_000 },
        "ata_smart_attributes": { "revision": 1, "table": table },
    });
    report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    read(&report.to_string())
}

#[test]
fn attributes_are_read_by_their_names_and_units() {
    let samsung =
        ata(&[(241, "Total_LBAs_Written", 99, 2000), (177, "Wear_Leveling_Count", 96, 41)], json!({}))
            .unwrap();
    assert_eq!(samsung.host, Some(Counter::new("241 Total_LBAs_Written", 2000.0, 512.0)));
    assert_eq!(samsung.erases.unwrap().mean.value, 41.0);
    assert_eq!(samsung.percentage_used.unwrap().count, 4.0);
    assert_eq!((samsung.capacity_bytes, samsung.taken_at), (Some(960_197_124_096), Some(1.7e9)));
    let intel = [(241, "Host_Writes_32MiB", 100, 44_554), (243, "NAND_Writes_32MiB", 100, 90_287)];
    let intel = ata(&intel, json!({})).unwrap();
    let ratio = intel.media.unwrap().amplification(intel.host.unwrap().amount());
    assert!((ratio.value - 90_287.0 / 44_554.0).abs() < 1e-12, "{ratio:?}");
    // The ratio may be off by one unit of each counter.
    assert!((ratio.high - 90_288.0 / 44_553.0).abs() < 1e-12, "{ratio:?}");
    let micron = [
        (246, "Total_LBAs_Written", 100, 9_607_694_422),
        (247, "Host_Program_Page_Count", 100, 340_097_266),
        (248, "Bckgnd_Program_Page_Cnt", 100, 2_861_592_324),
        (202, "Percent_Lifetime_Used", 75, 25),
    ];
    let micron = ata(&micron, json!({ "model_name": "Crucial_CT512MX100SSD1" })).unwrap();
    let ratio = micron.media.unwrap().amplification(micron.host.unwrap().amount());
    assert!((ratio.value - (1.0 + 2_861_592_324.0 / 340_097_266.0)).abs() < 1e-12, "{ratio:?}");
    assert_eq!(micron.percentage_used.unwrap().count, 25.0);
    let unknown =
        ata(&[(241, "Total_LBAs_Written", 99, 2000)], json!({ "in_smartctl_database": false })).unwrap();
    assert!(unknown.notes[0].contains("database does not know"), "{:?}", unknown.notes);
    // On drives of other vendors than Samsung the count has another meaning.
    let other_vendor = [(241, "Total_LBAs_Written", 99, 2000), (177, "Wear_Leveling_Count", 96, 41)];
    assert_eq!(ata(&other_vendor, json!({ "model_name": "X" })).unwrap().erases, None);
}

#[test]
fn standard_statistics_take_precedence_over_attributes() {
    let statistics = json!({ "ata_device_statistics": { "pages": [
        { "number": 1, "table": [
            { "name": "Logical Sectors Written", "value": 5000, "flags": { "valid": true } },
            { "name": "Power-on Hours", "value": 7, "flags": { "valid": true } },
        ]},
        { "number": 7, "table": [
            { "name": "Percentage Used Endurance Indicator", "value": 3, "flags": { "valid": true } },
        ]},
    ]}, "logical_block_size": 4096 });
    let report = ata(&[(241, "Total_LBAs_Written", 99, 2000)], statistics).unwrap();
    assert_eq!(report.host, Some(Counter::new("Logical Sectors Written", 5000.0, 4096.0)));
    assert_eq!(report.percentage_used.unwrap().count, 3.0);
    assert_eq!(report.power_on_hours.unwrap().count, 100.0);
}

#[test]
fn drives_of_nvme_and_sas_are_read_from_smartctl() {
    let nvme = json!({
        "json_format_version": [1, 0], "smartctl": { "version": [7, 4] }, "model_name": "N", "serial_number": "B",
        "nvme_total_capacity": 1_920_383_410_176u64, "user_capacity": { "bytes": 5 },
        "nvme_namespaces": [{ "id": 1, "utilization": { "blocks": 10, "bytes": 5120 } }],
        "nvme_smart_health_information_log": {
            "available_spare": 100, "percentage_used": 2, "data_units_written": 87_654_321,
            "data_units_written_s": "87654322", "power_on_hours": 5000,
        },
        "endurance_used": { "current_percent": 2 },
    });
    let report = read(&nvme.to_string()).unwrap();
    assert_eq!(report.host, Some(Counter::new("data_units_written", 87_654_322.0, 512_000.0)));
    assert_eq!((report.capacity_bytes, report.utilised_bytes), (Some(1_920_383_410_176), Some(5120)));
    let sas = json!({
        "smartctl": {}, "scsi_model_name": "S", "scsi_percentage_used_endurance_indicator": 1,
        "scsi_error_counter_log": { "write": { "gigabytes_processed": "12345.678" } },
    });
    let report = read(&sas.to_string()).unwrap();
    assert_eq!(report.host.unwrap().amount().value, 12_345_678e6);
}

#[test]
fn invalid_report_is_refused_with_file_and_key() {
    let cases = [
        ("", "report.json: is empty"),
        ("{", "report.json: is no JSON"),
        ("[]", "report.json: holds a list, and a report is an object"),
        ("7 8", "report.json: holds a number"),
        ("{}", "report.json: is neither of `smartctl -j` nor"),
        (r#"{"data_units_written": -1}"#, "report.json: data_units_written: is -1; a count"),
        (r#"{"data_units_written": "many"}"#, "report.json: data_units_written: is \"many\""),
        (r#"{"data_units_written": 1e400}"#, "report.json: is no JSON: number out of range"),
        (r#"{"data_units_written": null}"#, "report.json: has no count of what the host wrote"),
        (r#"{"smartctl": 1}"#, "report.json: smartctl: is a number, not an object"),
        (
            r#"{"smartctl": {"messages": [{"string": "No such device"}]}}"#,
            "smartctl.messages: says: No such device",
        ),
        (
            r#"{"smartctl": {}, "ata_smart_attributes": {"table": [1]}}"#,
            "ata_smart_attributes.table[0]: is a number",
        ),
        (r#"{"data_units_written": 1} {"data_units_written": 2}"#, "is there twice"),
        (r#"{"smartctl": {}, "local_time": {"time_t": "now"}}"#, "local_time.time_t: is \"now\""),
    ];
    for (text, expected) in cases {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let deep = "{\"a\":".repeat(100_000);
    assert!(read(&deep).unwrap_err().to_string().contains("recursion limit"));
    assert!(read(&" ".repeat(MAX_REPORT_BYTES + 1)).unwrap_err().to_string().contains("bytes long"));
}
