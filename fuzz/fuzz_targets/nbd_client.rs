//! Sends arbitrary bytes as the negotiation and the requests of an NBD client. The server answers or disconnects, never
//! panics, and allocates nothing for a length that the client only claims. The drive is intact afterwards.
#![no_main]

#[path = "../../crates/serve/tests/serve/conversation.rs"]
mod conversation;

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use wearwell_serve::Device;
use wearwell_stack::Scenario;

/// A drive of 384 KiB on 512 KiB of flash.
static SCENARIO: LazyLock<Scenario> = LazyLock::new(|| {
    let device = serde_json::json!({
        "blocks_per_plane": 32, "pages_per_block": 4, "spare_factor": 0.25, "page_size": 4096
    });
    serde_json::from_value(serde_json::json!({ "device": device })).expect("a scenario")
});

fuzz_target!(|bytes: &[u8]| {
    conversation::run_conversation(Device::in_memory(&SCENARIO).expect("a drive"), bytes);
});
