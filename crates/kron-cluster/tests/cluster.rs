//! A cluster does what tests of the operator rely on.

use kron_cluster::{AUDIT_METADATA, Cluster, Controllers, End, Options, Part, start_or_skip};
use std::fs;
use std::io::{self, Write};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn cluster(test: &str, options: &Options) -> Option<Cluster> {
    start_or_skip(test, options).unwrap()
}

fn poll(what: &str, mut is_true: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < until, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits for a condition of a Job.
fn wait_job(cluster: &Cluster, job: &str, condition: &str) {
    let condition = format!("--for=condition={condition}");
    cluster.kubectl(&["wait", &condition, "--timeout=60s", &format!("job/{job}")]).unwrap();
}

/// A Job that is not tried again.
fn job(name: &str) -> String {
    format!(
        "apiVersion: batch/v1
kind: Job
metadata: {{ name: {name} }}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{{ name: main, image: none }}]
"
    )
}

#[test]
fn jobs_end_as_told_and_a_restart_keeps_them() {
    let options = Options { audit_policy: Some(AUDIT_METADATA.into()), ..Options::default() };
    let Some(mut cluster) = cluster("jobs", &options) else { return };
    cluster.start_controllers(&Controllers::default()).unwrap();

    for (name, end, condition) in
        [("good", End::Succeeded, "complete"), ("bad", End::Failed, "failed")]
    {
        cluster.apply(&job(name)).unwrap();
        assert_eq!(cluster.finish_pods("default", name, end).unwrap(), 1);
        wait_job(&cluster, name, condition);
    }

    let uid = ["get", "job", "good", "--output=jsonpath={.metadata.uid}"];
    let before = cluster.kubectl(&uid).unwrap();
    cluster.stop_api_server();
    assert_eq!(cluster.pid(Part::ApiServer), None);
    assert!(cluster.kubectl(&uid).is_err(), "answered by a stopped server");
    cluster.start_api_server().unwrap();
    assert_eq!(cluster.kubectl(&uid).unwrap(), before);

    // The controller manager finds its way back.
    cluster.apply(&job("later")).unwrap();
    cluster.finish_pods("default", "later", End::Succeeded).unwrap();
    wait_job(&cluster, "later", "complete");

    // So does one that is started again, with CronJobs and another pace.
    cluster.stop_controllers();
    let wrong = Controllers { names: vec!["no-such-controller".into()], ..Controllers::default() };
    let error = cluster.start_controllers(&wrong).unwrap_err().to_string();
    assert!(error.contains("no-such-controller"), "{error}");
    let mut controllers = Controllers::with_cron_jobs();
    controllers.api_qps = Some(100);
    controllers.api_burst = Some(200);
    controllers.concurrent_cron_job_syncs = Some(10);
    cluster.start_controllers(&controllers).unwrap();

    // Garbage collection.
    cluster.kubectl(&["delete", "job", "good"]).unwrap();
    let pods = ["get", "pods", "--selector=job-name=good", "--output=name"];
    poll("pods go with their job", || cluster.kubectl(&pods).unwrap().is_empty());

    let audit = fs::read_to_string(cluster.audit_log()).unwrap();
    assert!(audit.contains("requestReceivedTimestamp") && audit.contains("kron-admin"));
}

#[test]
fn clients_are_who_they_are() {
    let Some(cluster) = cluster("clients", &Options::default()) else { return };
    let whoami = |kubeconfig: &std::path::Path| {
        let mut command = cluster.kubectl_command();
        command.env("KUBECONFIG", kubeconfig).args(["auth", "whoami", "--output=json"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let check = |kubeconfig: &std::path::Path, user: &str, groups: &[&str]| {
        let answer: serde_json::Value = serde_json::from_str(&whoami(kubeconfig)).unwrap();
        let info = &answer["status"]["userInfo"];
        assert_eq!(info["username"], user, "{answer}");
        let mut expected = groups.to_vec();
        expected.push("system:authenticated");
        assert_eq!(info["groups"], serde_json::json!(expected), "{answer}");
    };
    check(&cluster.kubeconfig(), "kron-admin", &["system:masters"]);
    check(&cluster.kubeconfig_for("nobody", &[]).unwrap(), "nobody", &[]);
    check(&cluster.kubeconfig_for("eve", &["a", "b"]).unwrap(), "eve", &["a", "b"]);
    assert!(cluster.kubeconfig_for("eve", &["a", "b", "c"]).is_err());

    cluster.kubectl(&["create", "serviceaccount", "operator"]).unwrap();
    let account = cluster.kubeconfig_for_service_account("default", "operator").unwrap();
    check(
        &account,
        "system:serviceaccount:default:operator",
        &["system:serviceaccounts", "system:serviceaccounts:default"],
    );

    // Nobody may do anything by default.
    let mut command = cluster.kubectl_command();
    command.env("KUBECONFIG", account).args(["get", "jobs"]);
    assert!(!command.output().unwrap().status.success());
}

/// Helm is beside the programs that we build; those of others may come without.
#[test]
fn helm_installs_a_chart() {
    let Some(cluster) = cluster("helm", &Options::default()) else { return };
    let chart = cluster.directory().join("chart");
    fs::create_dir_all(chart.join("templates")).unwrap();
    fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: chart\nversion: 1.0.0\n").unwrap();
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: of-the-chart }\n";
    fs::write(chart.join("templates/account.yaml"), account).unwrap();
    match cluster.helm_command().args(["install", "release"]).arg(&chart).output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            cluster.kubectl(&["get", "serviceaccount", "of-the-chart"]).unwrap();
        }
        // Not captured.
        Err(error) => {
            writeln!(io::stderr(), "kron-cluster: SKIPPED helm: {error}").unwrap();
        }
    }
}

#[test]
fn a_paused_server_does_not_answer() {
    let Some(mut cluster) = cluster("pause", &Options::default()) else { return };
    let ask = ["get", "namespaces", "--request-timeout=1s"];
    cluster.kubectl(&ask).unwrap();
    cluster.pause(Part::ApiServer).unwrap();
    assert!(cluster.kubectl(&ask).is_err(), "answered by a paused server");
    cluster.resume(Part::ApiServer).unwrap();
    poll("an answer", || cluster.kubectl(&ask).is_ok());
    // A paused program can be ended, too.
    cluster.pause(Part::Etcd).unwrap();
    assert!(cluster.pause(Part::ControllerManager).is_err());
}

#[test]
fn a_program_that_fails_says_why() {
    let flags = vec!["--no-such-flag".into()];
    let options = Options { api_server_flags: flags, ..Options::default() };
    match start_or_skip("failure", &options) {
        Ok(cluster) => assert!(cluster.is_none(), "a server with a wrong flag"),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("kube-apiserver ended"), "{text}");
            assert!(text.contains("no-such-flag"), "{text}");
        }
    }
}

/// Nothing is left, neither of a dropped cluster nor of a killed process.
#[test]
fn nothing_is_left() {
    let Some(mut cluster) = cluster("end", &Options::default()) else { return };
    cluster.start_controllers(&Controllers::default()).unwrap();
    let directory = cluster.directory().to_path_buf();
    let parts = [Part::Etcd, Part::ApiServer, Part::ControllerManager];
    let pids = parts.map(|part| cluster.pid(part).unwrap());
    drop(cluster);
    assert!(!directory.exists());
    for pid in pids {
        assert!(!fs::exists(format!("/proc/{pid}")).unwrap(), "{pid}");
    }
}
