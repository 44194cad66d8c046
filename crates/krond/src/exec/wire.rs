//! What the daemon and a set-up process say to each other, over a socket: the
//! plan, then a report, then one byte. Both are the same program, so there are
//! no versions.

use kron_host::launch::{LaunchError, Plan, Step};
use nix::errno::Errno;
use std::io::{self, Read};

/// The byte that opens the gate.
pub(super) const GO: u8 = b'g';
/// Longest plan: an entry has 64 KiB, and escaping may lengthen that sixfold.
const PLAN_BYTES: usize = 1 << 20;
/// Bytes of a report: what it is, the step, the error number.
pub(super) const REPORT_BYTES: usize = 6;
const READY: u8 = 1;
const FAILED: u8 = 2;

/// A plan as it is sent, its length first.
pub(super) fn encode(plan: &Plan) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, plan)?;
    let length = bytes.len() - 4;
    if length > PLAN_BYTES {
        return Err(Errno::E2BIG.into());
    }
    bytes[..4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(bytes)
}

/// Reads a plan; `None` if the daemon has gone.
pub(super) fn receive(from: &mut impl Read) -> io::Result<Option<Plan>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > PLAN_BYTES {
        return Err(Errno::E2BIG.into());
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

/// A report as it is sent.
pub(super) fn report(result: Result<(), LaunchError>) -> [u8; REPORT_BYTES] {
    let (kind, step, errno) = match result {
        Ok(()) => (READY, 0, 0),
        Err(error) => (FAILED, error.step.number(), error.errno as i32),
    };
    let [a, b, c, d] = errno.to_le_bytes();
    [kind, step, a, b, c, d]
}

/// A report as it was meant; `None` if it is none.
pub(super) fn read_report(bytes: [u8; REPORT_BYTES]) -> Option<Result<(), LaunchError>> {
    let [kind, step, a, b, c, d] = bytes;
    match kind {
        READY => Some(Ok(())),
        FAILED => {
            let step = Step::from_number(step)?;
            let errno = Errno::from_raw(i32::from_le_bytes([a, b, c, d]));
            Some(Err(LaunchError { step, errno }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports() {
        let failed = LaunchError { step: Step::Directory, errno: Errno::EACCES };
        assert_eq!(read_report(report(Ok(()))), Some(Ok(())));
        assert_eq!(read_report(report(Err(failed))), Some(Err(failed)));
        assert_eq!(read_report([FAILED, 200, 0, 0, 0, 0]), None);
        assert_eq!(read_report([0; 6]), None);
    }

    #[test]
    fn a_daemon_that_has_gone() {
        assert!(receive(&mut &[][..]).unwrap().is_none());
        assert!(receive(&mut &[9, 0, 0, 0, b'{'][..]).is_err());
        assert!(receive(&mut &[255, 255, 255, 255][..]).is_err());
    }
}
