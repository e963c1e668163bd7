//! Relay between a front end and the protocol implementation. It forwards messages, and truncates memory tables that
//! have unused space.
//!
//! User-mode Linux sends its memory table with space for two regions, even if it has only one. QEMU's document
//! neither allows nor forbids this, and the `vhost` crate refuses it.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use vmm_sys_util::sock_ctrl_msg::ScmSocket;

/// Bytes of a message header: request, flags, payload size.
const HEAD_BYTES: usize = 12;
/// Maximum length of a payload in bytes.
const MAX_BYTES: usize = 4096;
/// Maximum number of file descriptors that accompany a message.
const MAX_FILES: usize = 32;

/// VHOST_USER_SET_MEM_TABLE, whose payload is the number of regions, padding, and the regions.
const SET_MEM_TABLE: u32 = 5;
const TABLE_HEAD_BYTES: usize = 8;
const REGION_BYTES: usize = 32;

/// Forwards messages with their file descriptors until one side disconnects.
///
/// # Errors
/// Fails at the end of the connection or on an invalid message.
pub fn relay(front: &mut UnixStream, back: &UnixStream) -> io::Result<()> {
    loop {
        let (mut message, files) = receive(front)?;
        truncate_memory_table(&mut message);
        send(back, &message, &files)?;
    }
}

/// Receives a message and its file descriptors.
fn receive(from: &mut UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut message = vec![0; HEAD_BYTES];
    let (unfilled, mut numbers) = (message.as_mut_slice(), [0; MAX_FILES]);
    let mut parts = [libc::iovec { iov_base: unfilled.as_mut_ptr().cast(), iov_len: unfilled.len() }];
    // SAFETY: the only buffer is `room`, which nothing else accesses during the call.
    let (received, files) = unsafe { from.recv_with_fds(&mut parts, &mut numbers) }?;
    // SAFETY: the kernel has just created these descriptors for this process, so nothing else owns them.
    let to_owned_fd = |&number| unsafe { OwnedFd::from_raw_fd(number) };
    let files = numbers[..files].iter().map(to_owned_fd).collect();
    if received == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    from.read_exact(&mut message[received..])?;
    let length = number(&message, 8) as usize;
    if length > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no message"));
    }
    message.resize(HEAD_BYTES + length, 0);
    from.read_exact(&mut message[HEAD_BYTES..])?;
    Ok((message, files))
}

/// Truncates a memory table to the regions that it contains.
fn truncate_memory_table(message: &mut Vec<u8>) {
    if number(message, 0) != SET_MEM_TABLE || message.len() < HEAD_BYTES + TABLE_HEAD_BYTES {
        return;
    }
    let regions = number(message, HEAD_BYTES) as usize;
    let length = regions.saturating_mul(REGION_BYTES).saturating_add(TABLE_HEAD_BYTES);
    if length < message.len() - HEAD_BYTES {
        message.truncate(HEAD_BYTES + length);
        message[8..HEAD_BYTES].copy_from_slice(&(length as u32).to_ne_bytes());
    }
}

fn send(to: &UnixStream, message: &[u8], files: &[OwnedFd]) -> io::Result<()> {
    let numbers: Vec<_> = files.iter().map(AsRawFd::as_raw_fd).collect();
    let sent = to.send_with_fds(&[message], &numbers)?;
    // The remaining bytes are sent without descriptors, which were sent with the first byte.
    (&mut &*to).write_all(&message[sent..])
}

/// Decodes a 32-bit number in native byte order.
fn number(message: &[u8], at: usize) -> u32 {
    message[at..at + 4].try_into().map_or(0, u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(request: u32, payload: &[u8]) -> Vec<u8> {
        let numbers = [request, 1, payload.len() as u32];
        numbers.iter().flat_map(|number| number.to_ne_bytes()).chain(payload.iter().copied()).collect()
    }

    /// Builds a memory table that announces `regions` regions and has space for `capacity`.
    fn table(regions: u32, capacity: usize) -> Vec<u8> {
        let mut payload = regions.to_ne_bytes().to_vec();
        payload.resize(TABLE_HEAD_BYTES, 0);
        payload.extend((0..capacity * REGION_BYTES).map(|at| at as u8));
        message(SET_MEM_TABLE, &payload)
    }

    #[test]
    fn relay_passes_messages_and_files_and_truncates_memory_tables() {
        let (front, mut near) = UnixStream::pair().unwrap();
        let (back, mut far) = UnixStream::pair().unwrap();
        let passing = std::thread::spawn(move || relay(&mut near, &back));
        let file = tempfile::tempfile().unwrap();
        (&file).write_all(b"mine").unwrap();
        let sent = [table(1, 2), message(3, &[]), table(2, 2), table(9, 1), message(24, &[7; 300])];
        let expected = [table(1, 1), message(3, &[]), table(2, 2), table(9, 1), message(24, &[7; 300])];
        for (message, expected) in sent.iter().zip(&expected) {
            send(&front, message, &[file.try_clone().unwrap().into()]).unwrap();
            let (got, files) = receive(&mut far).unwrap();
            assert_eq!((&got, files.len()), (expected, 1));
        }
        // The message is sent again, byte by byte.
        for byte in &sent[4] {
            (&front).write_all(&[*byte]).unwrap();
        }
        assert_eq!(receive(&mut far).unwrap().0, sent[4]);
        // A message above the maximum length is invalid.
        (&front).write_all(&message(1, &[])[..8]).unwrap();
        (&front).write_all(&u32::MAX.to_ne_bytes()).unwrap();
        assert!(passing.join().unwrap().is_err());
    }
}
