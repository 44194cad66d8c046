//! Talking to a cluster: kubectl and Helm as a user would call them, and the part of the
//! kubelet that tests need.

use crate::cluster::Cluster;
use crate::error::Error;
use crate::process::{PATIENCE, PAUSE, last_lines};
use crate::programs::KUBECTL;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Instant;

/// How a pod ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every container exited with 0.
    Succeeded,
    /// One did not.
    Failed,
}

impl End {
    const fn phase(self) -> &'static str {
        match self {
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }
}

impl Cluster {
    /// Runs kubectl as administrator; what it prints.
    ///
    /// # Errors
    ///
    /// It cannot be started or fails; with what it says.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String, Error> {
        self.kubectl_with_input(arguments, "")
    }

    /// The same, with text for `-f -`.
    ///
    /// # Errors
    ///
    /// As of [`Self::kubectl`].
    pub fn kubectl_with_input(&self, arguments: &[&str], input: &str) -> Result<String, Error> {
        let mut command = self.kubectl_command();
        command.args(arguments);
        let output = run(&mut command, input)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(Error::failed(format!(
            "`kubectl {}` fails: {}{}",
            arguments.join(" "),
            output.status,
            last_lines(&String::from_utf8_lossy(&output.stderr))
        )))
    }

    /// Applies manifests, by the server, so that they may be large.
    ///
    /// # Errors
    ///
    /// As of [`Self::kubectl`].
    pub fn apply(&self, manifests: &str) -> Result<String, Error> {
        self.kubectl_with_input(&["apply", "--server-side", "-f", "-"], manifests)
    }

    /// A command for kubectl as administrator; set `KUBECONFIG` for another user.
    #[must_use]
    pub fn kubectl_command(&self) -> Command {
        let mut command = Command::new(self.programs().program(KUBECTL));
        // Nothing of the user's own, and nothing left in the home directory.
        command
            .env("KUBECONFIG", self.kubeconfig())
            .env("KUBERC", "off")
            .env("KUBECACHEDIR", self.directory().join("kubectl"));
        command
    }

    /// A command for Helm as administrator.
    #[must_use]
    pub fn helm_command(&self) -> Command {
        let mut command = Command::new(self.programs().helm());
        let home = self.directory().join("helm");
        command
            .env("KUBECONFIG", self.kubeconfig())
            .env("HELM_CACHE_HOME", home.join("cache"))
            .env("HELM_CONFIG_HOME", home.join("config"))
            .env("HELM_DATA_HOME", home.join("data"));
        command
    }

    /// Ends all pods of a Job, as a kubelet would report it; how many. Waits until there
    /// is one. A Job that may retry gets further pods, which are not waited for.
    ///
    /// # Errors
    ///
    /// No pod appears, or kubectl fails.
    pub fn finish_pods(&self, namespace: &str, job: &str, end: End) -> Result<usize, Error> {
        let until = Instant::now() + PATIENCE;
        let pods = loop {
            let pods = self.unfinished_pods(namespace, job)?;
            if !pods.is_empty() {
                break pods;
            }
            if Instant::now() >= until {
                return Err(Error::failed(format!(
                    "job `{namespace}/{job}` has no unfinished pod after {PATIENCE:?}"
                )));
            }
            thread::sleep(PAUSE);
        };
        let patch = format!(r#"{{"status":{{"phase":"{}"}}}}"#, end.phase());
        let mut arguments = vec!["patch", "--namespace", namespace, "--subresource=status"];
        arguments.extend(["--type=merge", "--patch", &patch, "pod"]);
        arguments.extend(pods.iter().map(String::as_str));
        self.kubectl(&arguments)?;
        Ok(pods.len())
    }

    fn unfinished_pods(&self, namespace: &str, job: &str) -> Result<Vec<String>, Error> {
        let label = format!("batch.kubernetes.io/job-name={job}");
        let columns = r#"jsonpath={range .items[*]}{.metadata.name} {.status.phase}{"\n"}{end}"#;
        let pods = self.kubectl(&[
            "get",
            "pods",
            "--namespace",
            namespace,
            "--selector",
            &label,
            "--output",
            columns,
        ])?;
        let unfinished =
            pods.lines().filter_map(|line| line.split_once(' ')).filter(|(_, phase)| {
                ![End::Succeeded, End::Failed].iter().any(|end| end.phase() == *phase)
            });
        Ok(unfinished.map(|(name, _)| name.to_string()).collect())
    }
}

/// Runs a command with some input. kubectl reads all of it before it answers, so neither
/// waits for the other.
fn run(command: &mut Command, input: &str) -> Result<Output, Error> {
    let started =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let output = started.and_then(|mut child| {
        if let Some(mut stdin) = child.stdin.take() {
            // It may end without reading; then its own message says why.
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output()
    });
    output.map_err(Error::io(format_args!("cannot run `{}`", command.get_program().display())))
}
