//! What is between a front and the protocol's implementation: messages pass, those that are longer than they say are cut.
//!
//! User-mode Linux sends its table of memory with room for two regions where it has one, which QEMU's document neither allows nor
//! forbids and the `vhost` crate refuses.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use vmm_sys_util::sock_ctrl_msg::ScmSocket;

/// Bytes of a message's head: request, flags, size of what follows.
const HEAD_BYTES: usize = 12;
/// Bytes of the longest message that there is, after its head.
const MOST_BYTES: usize = 4096;
/// Files that come with a message.
const MOST_FILES: usize = 32;

/// VHOST_USER_SET_MEM_TABLE: a number of regions, padding, and the regions.
const SET_MEM_TABLE: u32 = 5;
const TABLE_HEAD_BYTES: usize = 8;
const REGION_BYTES: usize = 32;

/// Hands on messages, and the files that come with them, until one side goes away.
///
/// # Errors
/// The end, or what is no message.
pub fn pass_on(front: &mut UnixStream, back: &UnixStream) -> io::Result<()> {
    loop {
        let (mut message, files) = receive(front)?;
        cut(&mut message);
        send(back, &message, &files)?;
    }
}

/// A message, and the files that came with it.
fn receive(from: &mut UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut message = vec![0; HEAD_BYTES];
    let (room, mut numbers) = (message.as_mut_slice(), [0; MOST_FILES]);
    let mut parts = [libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() }];
    // SAFETY: the only part is `room`, which nobody else touches meanwhile.
    let (received, files) = unsafe { from.recv_with_fds(&mut parts, &mut numbers) }?;
    // SAFETY: the kernel has just given this process these numbers, which nobody else knows yet.
    let own = |&number| unsafe { OwnedFd::from_raw_fd(number) };
    let files = numbers[..files].iter().map(own).collect();
    if received == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    from.read_exact(&mut message[received..])?;
    let length = number(&message, 8) as usize;
    if length > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no message"));
    }
    message.resize(HEAD_BYTES + length, 0);
    from.read_exact(&mut message[HEAD_BYTES..])?;
    Ok((message, files))
}

/// Cuts a table of memory to the regions that it has.
fn cut(message: &mut Vec<u8>) {
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
    // The rest goes without files, which came with the first byte.
    (&mut &*to).write_all(&message[sent..])
}

/// A number of 32 bits, of the machine's own order.
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

    /// A table of so many regions, with room for more.
    fn table(regions: u32, room: usize) -> Vec<u8> {
        let mut payload = regions.to_ne_bytes().to_vec();
        payload.resize(TABLE_HEAD_BYTES, 0);
        payload.extend((0..room * REGION_BYTES).map(|at| at as u8));
        message(SET_MEM_TABLE, &payload)
    }

    #[test]
    fn messages_and_files_pass_and_a_table_is_cut_to_its_regions() {
        let (front, mut near) = UnixStream::pair().unwrap();
        let (back, mut far) = UnixStream::pair().unwrap();
        let passing = std::thread::spawn(move || pass_on(&mut near, &back));
        let file = tempfile::tempfile().unwrap();
        (&file).write_all(b"mine").unwrap();
        let sent = [table(1, 2), message(3, &[]), table(2, 2), table(9, 1), message(24, &[7; 300])];
        let wanted = [table(1, 1), message(3, &[]), table(2, 2), table(9, 1), message(24, &[7; 300])];
        for (message, wanted) in sent.iter().zip(&wanted) {
            send(&front, message, &[file.try_clone().unwrap().into()]).unwrap();
            let (got, files) = receive(&mut far).unwrap();
            assert_eq!((&got, files.len()), (wanted, 1));
        }
        // Piece by piece.
        for byte in &sent[4] {
            (&front).write_all(&[*byte]).unwrap();
        }
        assert_eq!(receive(&mut far).unwrap().0, sent[4]);
        // What is longer than any message is none.
        (&front).write_all(&message(1, &[])[..8]).unwrap();
        (&front).write_all(&u32::MAX.to_ne_bytes()).unwrap();
        assert!(passing.join().unwrap().is_err());
    }
}
