//! Sees to it that nothing outlives the process that started it, even if that is killed.
//!
//! Two small processes wait for the end of a pipe, of which only we hold the other end;
//! the kernel closes it however we end. `holder` keeps a process group alive that every
//! program joins. `warden`, outside of it, then kills the group and removes the
//! directory. (A signal at the parent's death would be sent when the thread ends that
//! started the program, and a test is a thread.)

use crate::error::Error;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What the warden does. A program may be in the middle of making a file when it is
/// killed; hence the second attempt.
const WARDEN: &str = r#"read -r _
kill -s KILL -- "-$1"
rm -rf -- "$2" || { sleep 1; rm -rf -- "$2"; }"#;

/// Lives as long as the programs may.
#[derive(Debug)]
pub struct Keeper {
    holder: Child,
    warden: Child,
}

impl Keeper {
    /// One for the programs whose files are below this directory.
    pub fn new(directory: &Path) -> Result<Self, Error> {
        let mut holder = waiting(&mut Command::new("cat"))?;
        let mut command = Command::new("sh");
        command.args(["-c", WARDEN, "sh", &holder.id().to_string()]).arg(directory);
        match waiting(&mut command) {
            Ok(warden) => Ok(Self { holder, warden }),
            Err(error) => {
                finish(&mut holder);
                Err(error)
            }
        }
    }

    /// The process group that is killed at the end.
    pub fn group(&self) -> u32 {
        self.holder.id()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        finish(&mut self.warden);
        finish(&mut self.holder);
    }
}

/// Starts a process that is to wait for the end of its input. It has a group of its own,
/// out of reach of the terminal's Ctrl-C, and none of our output, which somebody may read
/// to its end.
fn waiting(command: &mut Command) -> Result<Child, Error> {
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let name = command.get_program().to_string_lossy().into_owned();
    command.spawn().map_err(Error::io(format_args!("cannot start `{name}`")))
}

fn finish(child: &mut Child) {
    // They fail only if it has ended already.
    let _ = child.kill();
    let _ = child.wait();
}
