//! One connection of this machine, asked for by its two ends.
//!
//! The kernel looks it up in its own table (`sock_diag(7)`). The files below `/proc/net` say the same of all connections
//! at once, which takes milliseconds for the table alone, however few there are.

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recvfrom, sendto, socket_with, sockopt,
};
use std::net::IpAddr;
use std::time::Duration;

/// An address without what does not name it.
pub(super) type Address = (IpAddr, u16);

/// The address of the kernel among netlink sockets.
const KERNEL: u32 = 0;
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const IPPROTO_TCP: u8 = 6;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const TCP_LISTEN: u8 = 10;
/// Where they stand behind the header of an answer.
const STATE: usize = HEADER_BYTES + 1;
const INODE: usize = HEADER_BYTES + 68;
/// It answers from its own memory; should it not, the files are read.
const ANSWER_WITHIN: Duration = Duration::from_millis(200);

/// The number of the socket whose own end is `local`; 0 if no process has it any more. None if the system knows of no
/// such connection, or does not say.
pub(super) fn number_of(local: Address, remote: Address) -> Option<u64> {
    let wire =
        socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(SOCK_DIAG)).ok()?;
    sockopt::set_socket_timeout(&wire, sockopt::Timeout::Recv, Some(ANSWER_WITHIN)).ok()?;
    sendto(&wire, &request(local, remote), SendFlags::empty(), &SocketAddrNetlink::new(KERNEL, 0)).ok()?;
    let mut answer = [0; 4096];
    let (_, bytes, sender) = recvfrom(&wire, &mut answer[..], RecvFlags::empty()).ok()?;
    // A command that runs as root may write to this socket, too. The files are read then.
    let is_of_kernel = SocketAddrNetlink::try_from(sender?).is_ok_and(|sender| sender.pid() == KERNEL);
    is_of_kernel.then(|| read(answer.get(..bytes)?)).flatten()
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2`.
fn request((local, local_port): Address, (remote, remote_port): Address) -> [u8; REQUEST_BYTES] {
    let mut bytes = Bytes { text: [0; REQUEST_BYTES], at: 0 };
    bytes.put(&(REQUEST_BYTES as u32).to_ne_bytes());
    bytes.put(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.put(&NLM_F_REQUEST.to_ne_bytes());
    bytes.skip(8);
    bytes.put(&[if local.is_ipv4() { AF_INET } else { AF_INET6 }, IPPROTO_TCP, 0, 0]);
    // In every state.
    bytes.put(&u32::MAX.to_ne_bytes());
    bytes.put(&local_port.to_be_bytes());
    bytes.put(&remote_port.to_be_bytes());
    for address in [local, remote] {
        match address {
            IpAddr::V4(address) => {
                bytes.put(&address.octets());
                bytes.skip(12);
            }
            IpAddr::V6(address) => bytes.put(&address.octets()),
        }
    }
    // Over any interface, and whichever it is by now.
    bytes.skip(4);
    bytes.put(&[0xFF; 8]);
    bytes.text
}

/// `struct inet_diag_msg` behind its header. Everything else is an error, or of a kind that was not asked for.
fn read(answer: &[u8]) -> Option<u64> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    // Where there is no such connection, whoever waits for one at that port is found.
    let is_connection = kind == SOCK_DIAG_BY_FAMILY && *answer.get(STATE)? != TCP_LISTEN;
    let number = u32::from_ne_bytes(answer.get(INODE..INODE + 4)?.try_into().ok()?);
    is_connection.then_some(u64::from(number))
}

struct Bytes {
    text: [u8; REQUEST_BYTES],
    at: usize,
}

impl Bytes {
    fn put(&mut self, bytes: &[u8]) {
        self.text[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    fn skip(&mut self, count: usize) {
        self.at += count;
    }
}

#[cfg(test)]
mod tests {
    use super::number_of;
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::os::fd::AsRawFd as _;

    fn canonical(address: SocketAddr) -> super::Address {
        (address.ip().to_canonical(), address.port())
    }

    /// As the system names it where it lists what a process has open.
    fn number_by_file(socket: &TcpStream) -> u64 {
        let target = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let text = target.to_str().unwrap();
        text.trim_start_matches("socket:[").trim_end_matches(']').parse().unwrap()
    }

    #[test]
    fn either_end_of_a_connection_is_found_by_its_addresses() {
        for (bound, named) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("[::]:0", "127.0.0.1")] {
            let Ok(listener) = TcpListener::bind(bound) else {
                assert!(bound.starts_with('['), "only the newer addresses may be missing");
                continue;
            };
            let port = listener.local_addr().unwrap().port();
            let theirs = TcpStream::connect((named, port)).unwrap();
            let (ours, _) = listener.accept().unwrap();
            let ends = (canonical(theirs.local_addr().unwrap()), canonical(theirs.peer_addr().unwrap()));

            assert_eq!(number_of(ends.0, ends.1), Some(number_by_file(&theirs)), "{bound}");
            assert_eq!(number_of(ends.1, ends.0), Some(number_by_file(&ours)), "{bound}");
        }
    }

    #[test]
    fn a_connection_that_is_not_there_is_not_found_and_a_listener_is_not_taken_for_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let loopback = "127.0.0.1".parse().unwrap();

        assert_eq!(number_of((loopback, port), (loopback, 1)), None);
        assert_eq!(number_of((loopback, 1), (loopback, port)), None);
    }
}
