//! Tells a service manager how the daemon is doing (the `sd_notify` protocol:
//! one datagram with `KEY=value` lines).

use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sendto, socket_with,
};
use std::os::unix::ffi::OsStrExt;

/// The daemon is ready.
pub const READY: &str = "READY=1";
/// The daemon is on its way out.
pub const STOPPING: &str = "STOPPING=1";

/// Tells the service manager, if there is one that wants to know. It never
/// matters whether that succeeds.
pub fn tell(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match path.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddrUnix::new_abstract_name(name),
        None => SocketAddrUnix::new(path.as_os_str()),
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    if let Ok(address) = address
        && let Ok(socket) = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)
    {
        let _ = sendto(socket, state.as_bytes(), SendFlags::NOSIGNAL, &address);
    }
}
