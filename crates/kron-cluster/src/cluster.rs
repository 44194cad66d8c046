//! A running control plane: started, interrupted, asked for credentials, ended.

use crate::certificates::{Authority, MASTERS, Pair};
use crate::error::Error;
use crate::keeper::Keeper;
use crate::kubeconfig::{self, Credentials};
use crate::launch::{self, ApiServerFiles};
use crate::options::{Controllers, Options};
use crate::ports;
use crate::process::Process;
use crate::programs::{API_SERVER, CONTROLLER_MANAGER, ETCD, Programs};
use crate::skip::announce;
use nix::sys::signal::Signal;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// How long an answer of etcd is waited for; it is asked again.
const ANSWER: Duration = Duration::from_secs(1);
/// What the controller manager says when a controller has seen all objects.
const SYNCED: &str = "Caches are synced";

/// One of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Keeps the objects.
    Etcd,
    /// What every client talks to.
    ApiServer,
    /// Makes pods for Jobs, collects garbage.
    ControllerManager,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Etcd => ETCD,
            Self::ApiServer => API_SERVER,
            Self::ControllerManager => CONTROLLER_MANAGER,
        }
    }
}

/// A control plane of its own. All of it ends, and its directory is removed, when this is
/// dropped, and also when this process ends without doing so: a cluster for many tests
/// may be kept in a `static`.
// Fields are dropped in this order: programs first, the directory last.
#[derive(Debug)]
pub struct Cluster {
    controller_manager: Option<Process>,
    api_server: Option<Process>,
    etcd: Option<Process>,
    keeper: Keeper,
    programs: Programs,
    authority: Authority,
    port: u16,
    api_server_flags: Vec<String>,
    /// How many clients there are, for the names of their files.
    clients: AtomicUsize,
    directory: TempDir,
}

impl Cluster {
    /// Starts etcd and the API server, and waits until it answers. The controller manager
    /// is started separately, so that resource definitions can be made before.
    ///
    /// # Errors
    ///
    /// There are no programs ([`Error::is_missing`]), or one does not start; then with
    /// the end of its log.
    pub fn start(options: &Options) -> Result<Self, Error> {
        let programs = match &options.programs {
            Some(programs) => programs.clone(),
            None => Programs::find_or_build(&|what| announce(what))?,
        };
        let directory = tempfile::Builder::new()
            .prefix("kron-cluster-")
            .tempdir()
            .map_err(Error::io("cannot make a directory for a cluster"))?;
        let [port, etcd_port, peer_port] = ports::free()?;
        let authority = Authority::new(directory.path())?;
        let flags = api_server_flags(directory.path(), &authority, etcd_port, port, options)?;
        let mut cluster = Self {
            controller_manager: None,
            api_server: None,
            etcd: None,
            keeper: Keeper::new(directory.path())?,
            programs,
            authority,
            port,
            api_server_flags: flags,
            clients: AtomicUsize::new(0),
            directory,
        };
        let admin = cluster.authority.client("admin", "kron-admin", &[MASTERS])?;
        cluster.write_kubeconfig(&cluster.kubeconfig(), &Credentials::Certificate(&admin))?;
        let data = cluster.directory().join("etcd");
        let flags = launch::etcd(&data, etcd_port, peer_port, options.is_durable);
        let mut etcd = cluster.launch(Part::Etcd, &flags)?;
        etcd.wait_until(|| is_healthy(etcd_port))?;
        cluster.etcd = Some(etcd);
        cluster.start_api_server()?;
        Ok(cluster)
    }

    /// Starts the API server after [`Self::stop_api_server`], at the same address with the
    /// same data, and waits until it answers.
    ///
    /// # Errors
    ///
    /// It does not start; with the end of its log.
    pub fn start_api_server(&mut self) -> Result<(), Error> {
        if self.api_server.is_some() {
            return Err(Error::failed("the API server is running"));
        }
        let mut process = self.launch(Part::ApiServer, &self.api_server_flags)?;
        process.wait_until(|| self.answers())?;
        self.api_server = Some(process);
        Ok(())
    }

    /// Kills the API server. Clients see connections break, then refusals.
    pub fn stop_api_server(&mut self) {
        self.api_server = None;
    }

    /// Starts the controller manager, and waits until controllers know what there is.
    ///
    /// # Errors
    ///
    /// It does not start; with the end of its log.
    pub fn start_controllers(&mut self, controllers: &Controllers) -> Result<(), Error> {
        if self.controller_manager.is_some() {
            return Err(Error::failed("the controller manager is running"));
        }
        let flags = launch::controller_manager(&self.kubeconfig(), controllers);
        let log = self.log(Part::ControllerManager);
        // What an earlier one said does not count.
        let from = fs::read(&log).map_or(0, |text| text.len());
        let mut process = self.launch(Part::ControllerManager, &flags)?;
        // It serves nothing that could be asked, but every release says this.
        process.wait_until(|| {
            let text = fs::read(&log).unwrap_or_default();
            String::from_utf8_lossy(text.get(from..).unwrap_or_default()).contains(SYNCED)
        })?;
        self.controller_manager = Some(process);
        Ok(())
    }

    /// Kills the controller manager.
    pub fn stop_controllers(&mut self) {
        self.controller_manager = None;
    }

    /// Stops a program without ending it: connections stay and nothing is answered.
    ///
    /// # Errors
    ///
    /// It does not run.
    pub fn pause(&mut self, part: Part) -> Result<(), Error> {
        self.running(part)?.signal(Signal::SIGSTOP)
    }

    /// Lets a paused program go on.
    ///
    /// # Errors
    ///
    /// It does not run.
    pub fn resume(&mut self, part: Part) -> Result<(), Error> {
        self.running(part)?.signal(Signal::SIGCONT)
    }

    /// An error, with the end of its log, if a program that should run does not.
    ///
    /// # Errors
    ///
    /// That.
    pub fn check(&mut self, part: Part) -> Result<(), Error> {
        self.running(part)?.check()
    }

    /// The process of a program, if it was started and not stopped; to measure it.
    #[must_use]
    pub fn pid(&self, part: Part) -> Option<u32> {
        let process = match part {
            Part::Etcd => &self.etcd,
            Part::ApiServer => &self.api_server,
            Part::ControllerManager => &self.controller_manager,
        };
        process.as_ref().map(Process::pid)
    }

    /// What a program says.
    #[must_use]
    pub fn log(&self, part: Part) -> PathBuf {
        self.directory().join(format!("{}.log", part.name()))
    }

    /// The audit log, if a policy was given: a JSON object a line.
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.directory().join("audit.log")
    }

    /// For a client that may do everything.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory().join("admin.kubeconfig")
    }

    /// For a client with a certificate of its own. There may be two groups at most, beside
    /// `system:authenticated`.
    ///
    /// # Errors
    ///
    /// There are more groups, or a file cannot be written.
    pub fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> Result<PathBuf, Error> {
        let name = self.next_client();
        let pair: Pair = self.authority.client(&name, user, groups)?;
        let path = self.directory().join(format!("{name}.kubeconfig"));
        self.write_kubeconfig(&path, &Credentials::Certificate(&pair))?;
        Ok(path)
    }

    /// For a client that is a service account, as a pod would be: with a token, for a day.
    /// The account has to exist.
    ///
    /// # Errors
    ///
    /// It does not exist, or a file cannot be written.
    pub fn kubeconfig_for_service_account(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<PathBuf, Error> {
        let token =
            self.kubectl(&["create", "token", name, "--namespace", namespace, "--duration=24h"])?;
        let path = self.directory().join(format!("{}.kubeconfig", self.next_client()));
        self.write_kubeconfig(&path, &Credentials::Token(token.trim()))?;
        Ok(path)
    }

    /// Where the API server is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Everything of this cluster; goes with it.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The programs it runs.
    #[must_use]
    pub const fn programs(&self) -> &Programs {
        &self.programs
    }

    fn launch(&self, part: Part, flags: &[String]) -> Result<Process, Error> {
        let program = self.programs.program(part.name());
        Process::start(part.name(), &program, flags, self.log(part), self.keeper.group())
    }

    fn running(&mut self, part: Part) -> Result<&mut Process, Error> {
        let process = match part {
            Part::Etcd => &mut self.etcd,
            Part::ApiServer => &mut self.api_server,
            Part::ControllerManager => &mut self.controller_manager,
        };
        process.as_mut().ok_or_else(|| Error::failed(format!("{} is not running", part.name())))
    }

    /// Whether the API server is ready and has made its namespaces. kubectl is asked to
    /// look, for it knows TLS; not before there is somebody to connect to.
    fn answers(&self) -> bool {
        let ask = |arguments: &[&str]| self.kubectl(arguments).is_ok();
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok()
            && ask(&["get", "--raw=/readyz", "--request-timeout=5s"])
            && ask(&["get", "namespace", "default", "--request-timeout=5s"])
    }

    fn next_client(&self) -> String {
        format!("client-{}", self.clients.fetch_add(1, Ordering::Relaxed))
    }

    fn write_kubeconfig(&self, path: &Path, credentials: &Credentials<'_>) -> Result<(), Error> {
        kubeconfig::write(path, &self.url(), &self.authority.certificate(), credentials)
    }
}

fn api_server_flags(
    directory: &Path,
    authority: &Authority,
    etcd_port: u16,
    port: u16,
    options: &Options,
) -> Result<Vec<String>, Error> {
    let serving = authority.serving()?;
    let token_keys = authority.token_keys()?;
    let policy = directory.join("audit-policy.yaml");
    let log = directory.join("audit.log");
    if let Some(text) = &options.audit_policy {
        fs::write(&policy, text).map_err(Error::io("cannot write the audit policy"))?;
    }
    let files = ApiServerFiles {
        certificate: &serving.certificate,
        key: &serving.key,
        authority: &authority.certificate(),
        token_keys: &token_keys,
        audit: options.audit_policy.as_ref().map(|_| (policy.as_path(), log.as_path())),
    };
    Ok(launch::api_server(&files, etcd_port, port, options))
}

/// Whether etcd says that it is.
fn is_healthy(port: u16) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok::<_, std::io::Error>(answer)
    };
    ask().is_ok_and(|answer| answer.contains(r#""health":"true""#))
}
