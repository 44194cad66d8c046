//! `KronJob`s in a real API server, asked for by the real program.
//!
//! Skipped, loudly, where there is no control plane: `kron-cluster build` makes one.

use kron_cluster::{Cluster, Options, start_or_skip};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const MANIFEST: &str = "\
apiVersion: kron.io/v1alpha1
kind: KronJob
metadata:
  name: backup
  namespace: default
spec:
  schedule: 0 0 * * *
  timezone: Europe/Paris
  window: {duration: 3h}
  policy: {concurrency: allow, deadline: 30m}
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: none}]
";

/// Asserts that nothing was printed, with this exit code and these words.
#[track_caller]
fn fails(said: &Said, code: i32, words: &[&str]) {
    assert_eq!((said.0, &*said.1), (code, ""), "{said:?}");
    for word in words {
        assert!(said.2.contains(word), "no {word:?}: {}", said.2);
    }
}

struct Bench {
    cluster: Cluster,
    file: PathBuf,
}

/// Exit code, standard output and standard error.
type Said = (i32, String, String);

impl Bench {
    fn start() -> Option<Self> {
        let cluster = start_or_skip("kronctl", &Options::default()).unwrap()?;
        let definition = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crd.yaml");
        let file = cluster.directory().join("backup.yaml");
        fs::write(&file, MANIFEST).unwrap();
        let bench = Self { cluster, file };
        bench.before_the_resource();
        bench.cluster.apply(&fs::read_to_string(definition).unwrap()).unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while bench.cluster.apply(MANIFEST).is_err() {
            assert!(Instant::now() < until, "the resource is not there");
            std::thread::sleep(Duration::from_millis(200));
        }
        Some(bench)
    }

    fn run_with(&self, config: &Path, arguments: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_kronctl"))
            .args(arguments)
            .env_clear()
            .env("HOME", self.cluster.directory())
            .env("KUBECONFIG", config)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn run(&self, arguments: &[&str]) -> Said {
        self.run_with(&self.cluster.kubeconfig(), arguments)
    }

    fn before_the_resource(&self) {
        let said = self.run(&["next", "backup"]);
        fails(&said, 1, &["has no KronJobs", "kron-operator crd"]);
    }

    /// OPR-08: what is in the cluster is what is in the file, and says the same.
    fn the_same_as_the_file(&self) {
        let file = self.file.to_str().unwrap();
        for question in [
            &["explain", "--at", "2026-03-02", "--format", "json"][..],
            &["next", "--from", "2026-03-01"],
            &["next", "--from", "2026-03-01", "--format", "json", "-c", "3"],
        ] {
            let theirs = self.run(&[&question[..1], &["-f", file], &question[1..]].concat());
            let ours = self.run(&[&question[..1], &["backup"], &question[1..]].concat());
            assert_eq!((ours.0, &*ours.2), (0, ""));
            assert_eq!(ours.1, theirs.1);
            assert!(ours.1.contains("default/backup"), "{}", ours.1);
        }
        // All of the namespace.
        assert_eq!(self.run(&["next", "--from", "2026-03-01"]).0, 0);
    }

    /// What nobody has looked at, and what an operator has.
    fn why(&self) {
        let (code, told, remarks) = self.run(&["why", "backup"]);
        assert_eq!(code, 0, "{remarks}");
        assert!(told.contains("outcome       will run in "), "{told}");
        assert!(remarks.contains("the operator has not looked at it yet"), "{remarks}");
        let period = "2026-03-01T23:00:00Z";
        let status = json!({ "status": {
            "observedGeneration": 1,
            "marks": { "handledThrough": period, "notBefore": "2026-01-01T00:00:00Z" },
            "history": [{
                "periodId": period, "chosenTime": "2026-03-02T00:30:00Z", "outcome": "executed",
                "job": "backup-1", "result": "failed", "finishedAt": "2026-03-02T00:31:00Z",
            }],
        } });
        let patch = ["patch", "kronjob", "backup", "--subresource=status", "--type=merge", "-p"];
        self.cluster.kubectl(&[&patch[..], &[&status.to_string()]].concat()).unwrap();
        let of_it = ["get", "kronjob", "backup", "-o", "jsonpath={.metadata.uid}"];
        let uid = self.cluster.kubectl(&of_it).unwrap();
        let event = |name: &str, uid: &str, job: &str| {
            json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event",
                "metadata": { "namespace": "default", "name": name },
                "eventTime": "2026-03-02T00:30:00.000000Z",
                "reportingController": "kron.io/kron-operator", "reportingInstance": "x",
                "action": "Schedule", "reason": "Executed", "type": "Normal",
                "note": format!("period {period}: created Job {job}"),
                "regarding": {
                    "apiVersion": "kron.io/v1alpha1", "kind": "KronJob",
                    "namespace": "default", "name": "backup", "uid": uid,
                },
            })
        };
        // One of the same name was there before.
        for event in
            [event("backup.1", uid.trim(), "backup-1"), event("backup.0", "other", "namesake-1")]
        {
            self.cluster.kubectl_with_input(&["create", "-f", "-"], &event.to_string()).unwrap();
        }
        let (code, told, remarks) = self.run(&["why", "backup", "--at", "2026-03-02"]);
        assert_eq!((code, &*remarks), (0, ""), "{told}");
        for line in [
            "outcome       executed\n",
            "job           backup-1\n",
            "ended         2026-03-02T00:31:00Z  failed\n",
            "event         2026-03-02T00:30:00Z  Executed: period 2026-03-01T23:00:00Z: created",
        ] {
            assert!(told.contains(line), "no {line:?}: {told}");
        }
        assert!(!told.contains("namesake"), "{told}");
    }

    /// One that cannot be used is told of, and hides none of the others.
    fn an_invalid_neighbour(&self) {
        let bad = MANIFEST.replace("name: backup", "name: bad").replace("0 0 * * *", "61 0 * * *");
        self.cluster.apply(&bad).unwrap();
        let alone = self.run(&["next", "backup", "--from", "2026-03-01"]);
        let (code, told, remarks) = self.run(&["next", "--from", "2026-03-01"]);
        assert_eq!((code, told), (2, alone.1));
        assert!(remarks.contains("`default/bad` cannot be used"), "{remarks}");
        fails(&self.run(&["next", "bad"]), 2, &["minute `61` is out of range"]);
        self.cluster.kubectl(&["delete", "kronjob", "bad"]).unwrap();
    }

    fn mistakes(&self) {
        fails(
            &self.run(&["why", "bakcup"]),
            1,
            &["no KronJob `bakcup` in namespace `default`", "did you mean `backup`?"],
        );
        fails(&self.run(&["why", "nothing"]), 1, &["there are: backup"]);
        fails(
            &self.run(&["explain", "backup", "-n", "shop"]),
            1,
            &["namespace `shop`", "none at all"],
        );
        fails(&self.run(&["next", "--context", "nope"]), 2, &["kubeconfig", "nope"]);
        let nobody = self.cluster.kubeconfig_for("nobody", &[]).unwrap();
        fails(&self.run_with(&nobody, &["next"]), 1, &["forbidden", "nobody"]);
        fails(
            &self.run_with(Path::new("/nowhere"), &["next"]),
            2,
            &["no cluster is known", "-f FILE"],
        );
        // One that does not answer any more.
        let gone = self.cluster.directory().join("gone.kubeconfig");
        let config = fs::read_to_string(self.cluster.kubeconfig()).unwrap();
        let url = self.cluster.url();
        fs::write(&gone, config.replace(&url, "https://127.0.0.1:9")).unwrap();
        fails(
            &self.run_with(&gone, &["next"]),
            1,
            &["cannot reach the cluster at https://127.0.0.1:9"],
        );
    }
}

/// One cluster for all: starting one takes longer than what is done with it.
#[test]
fn on_a_real_api_server() {
    let Some(bench) = Bench::start() else { return };
    bench.the_same_as_the_file();
    bench.why();
    bench.an_invalid_neighbour();
    bench.mistakes();
}
