//! The Helm chart: it makes what the manifests make, refuses values that it does not know,
//! and what it installs is enough for the operator to work with.
//!
//! What needs Helm is skipped, loudly, where there is no control plane: `kron-cluster build`
//! makes one, and Helm with it.

use clap::{Arg, CommandFactory, Parser};
use kron_cluster::{Cluster, Options, start_or_skip};
use kron_operator::cli::Cli;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use std::{env, thread};

const PATIENCE: Duration = Duration::from_secs(90);
/// The release, and its namespace, as in the manifests.
const NAME: &str = "kron-operator";
const NAMESPACE: &str = "kron-system";
/// What everything is made with, to see that everything can be made.
const EVERYTHING: &str = "ci/everything-values.yaml";

/// What a monitor needs to be accepted as; the real definition is large.
const MONITORS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: servicemonitors.monitoring.coreos.com }
spec:
  group: monitoring.coreos.com
  names: { kind: ServiceMonitor, plural: servicemonitors, singular: servicemonitor }
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true }
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn chart(file: &str) -> PathBuf {
    root().join("charts/kron-operator").join(file)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_string()
}

/// All documents of a file.
fn documents(yaml: &str) -> Vec<Value> {
    let documents = serde_yaml_ng::Deserializer::from_str(yaml);
    let documents = documents.map(|document| Value::deserialize(document).unwrap());
    documents.filter(|document| !document.is_null()).collect()
}

fn read(path: &Path) -> Value {
    documents(&fs::read_to_string(path).unwrap()).remove(0)
}

/// The document of this kind; there is one.
fn kind<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    let mut found = documents.iter().filter(|document| document["kind"] == kind);
    let first = found.next().unwrap_or_else(|| panic!("no {kind}"));
    assert!(found.next().is_none(), "several of {kind}");
    first
}

/// Whether both mean the same: Helm writes `1000` for `1000.0`.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(key, value)| other.get(key).is_some_and(|other| is_same(value, other));
            one.len() == other.len() && one.iter().all(same)
        }
        _ => one == other,
    }
}

/// The definition of the resource, a copy because a chart has to be complete; `UPDATE=1`
/// writes it anew. (That deploy/crd.yaml is the same, `tests/generated.rs` knows.)
#[test]
fn the_definition_in_the_chart_is_what_the_types_say() {
    let path = chart("files/crd.yaml");
    let wanted = kron_operator::api::definition_yaml().unwrap();
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap();
    assert!(found == wanted, "files/crd.yaml of the chart differs; `make generate` writes it");
}

#[test]
fn the_chart_is_for_this_version() {
    let chart = read(&chart("Chart.yaml"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
}

/// Whoever reads values.yaml has seen all that there is, and can set all of it.
#[test]
fn values_and_schema_have_the_same_names() {
    fn compare(at: &str, schema: &Value, values: &Value) {
        let Some(properties) = schema["properties"].as_object() else { return };
        assert_eq!(schema["additionalProperties"], false, "{at}");
        // Helm itself gives `global` to a chart that is part of another.
        let known: BTreeSet<_> = properties.keys().filter(|key| *key != "global").collect();
        let values = values.as_object().unwrap();
        assert_eq!(values.keys().collect::<BTreeSet<_>>(), known, "{at}");
        for (key, value) in values {
            compare(&format!("{at}.{key}"), &properties[key], value);
        }
    }
    let schema = fs::read_to_string(chart("values.schema.json")).unwrap();
    compare("", &serde_json::from_str(&schema).unwrap(), &read(&chart("values.yaml")));
}

/// What of a Dockerfile matters to whoever runs the image; `docker` is not there to ask.
#[test]
fn the_image_is_one_program_of_nobody() {
    let text = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let text = text.replace("\\\n", " ");
    let lines: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().collect())
        .filter(|words: &Vec<&str>| !words.is_empty())
        .collect();
    let all = |name: &'static str| lines.iter().filter(move |words| words[0] == name);
    // A base of a certain version, and nothing below the program.
    let bases: Vec<&str> = all("FROM").map(|words| words[1]).collect();
    let [build, last] = bases[..] else { panic!("{bases:?}") };
    let (_, tag) = build.split_once(':').unwrap();
    assert!(tag.starts_with(|c: char| c.is_ascii_digit()), "{build}");
    assert_eq!(last, "scratch");
    // An account by number: there are no names.
    let user = all("USER").map(|words| words[1]).collect::<Vec<_>>();
    let [user] = user[..] else { panic!("{user:?}") };
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}");
    assert_eq!(all("ADD").count(), 0, "it unpacks and downloads");
    assert!(text.contains("linux-musl") && text.contains("--locked"), "a static program");
    for words in all("COPY") {
        let (_, sources) = words[1..].split_last().unwrap();
        // What another stage has made is not here.
        let is_here = !sources.iter().any(|word| word.starts_with("--from="));
        for source in sources.iter().filter(|_| is_here) {
            assert!(root().join(source).exists(), "{source}");
        }
    }
    let entry = lines.iter().rposition(|words| words[0] == "ENTRYPOINT").unwrap();
    assert_eq!(lines[entry][1], r#"["/kron-operator"]"#);
    let program = lines.iter().rposition(|words| words.ends_with(&["/kron-operator"])).unwrap();
    assert_eq!(lines[program], ["COPY", "--from=build", "/kron-operator", "/kron-operator"]);
    assert!(program < entry);
}

struct Bench {
    cluster: Cluster,
    operator: Option<Child>,
    log: PathBuf,
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(mut operator) = self.operator.take() {
            let _ = operator.kill();
            let _ = operator.wait();
        }
        if thread::panicking() {
            eprintln!("{}", fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}

impl Bench {
    /// A cluster with the namespaces, where pods may do nothing special.
    fn start(test: &str) -> Option<Self> {
        let cluster = start_or_skip(test, &Options::default()).unwrap()?;
        for namespace in [NAMESPACE, "shop", "shop-operator"] {
            cluster.kubectl(&["create", "namespace", namespace]).unwrap();
            let level = "pod-security.kubernetes.io/enforce=restricted";
            cluster.kubectl(&["label", "namespace", namespace, level]).unwrap();
        }
        cluster.apply(MONITORS).unwrap();
        wait("monitors", || cluster.kubectl(&["get", "servicemonitors"]).ok());
        let log = cluster.directory().join("operator.log");
        Some(Self { cluster, operator: None, log })
    }

    /// What Helm prints, or complains of.
    fn helm(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.cluster.helm_command().args(arguments).output().unwrap();
        let (out, error) = (output.stdout, output.stderr);
        if output.status.success() {
            Ok(String::from_utf8(out).unwrap())
        } else {
            Err(String::from_utf8([out, error].concat()).unwrap())
        }
    }

    /// The manifests that these values make.
    fn render(&self, values: &[&str]) -> Result<String, String> {
        let chart = text(&chart(""));
        self.helm(&[&["template", NAME, &chart, "--namespace", NAMESPACE], values].concat())
    }

    fn get(&self, arguments: &[&str]) -> Value {
        let arguments = [&["get", "--output=json"], arguments].concat();
        serde_json::from_str(&self.cluster.kubectl(&arguments).unwrap()).unwrap()
    }

    fn exists(&self, arguments: &[&str]) -> bool {
        let arguments = [&["get", "--output=name", "--ignore-not-found"], arguments].concat();
        !self.cluster.kubectl(&arguments).unwrap().is_empty()
    }

    fn next_period(&self, namespace: &str, name: &str) -> Value {
        let kronjob = self.get(&["kronjob", name, "--namespace", namespace]);
        kronjob["status"]["nextPeriod"]["chosenTime"].clone()
    }

    /// Starts the program as a pod of the Deployment would be: with its arguments and its
    /// account. Waits until it leads and has seen everything.
    fn start_operator(&mut self, namespace: &str, name: &str) {
        let deployment = self.get(&["deployment", name, "--namespace", namespace]);
        let pod = &deployment["spec"]["template"]["spec"];
        let account = pod["serviceAccountName"].as_str().unwrap();
        let config = self.cluster.kubeconfig_for_service_account(namespace, account).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_kron-operator"))
            .args(arguments(&deployment))
            .args(["--listen", "127.0.0.1:0"])
            .env("KUBECONFIG", config)
            .env("POD_NAMESPACE", namespace)
            .env("POD_NAME", "a-pod")
            .stderr(File::create(&self.log).unwrap())
            .spawn()
            .unwrap();
        self.operator = Some(child);
        wait("the operator", || {
            fs::read_to_string(&self.log).ok()?.contains("event=ready").then_some(())
        });
        let lease = self.get(&["lease", name, "--namespace", namespace]);
        assert_eq!(lease["spec"]["holderIdentity"], "a-pod");
    }

    /// Asks it to end, which it has to within the time that a kubelet would give it.
    fn stop_operator(&mut self, namespace: &str, name: &str) {
        let deployment = self.get(&["deployment", name, "--namespace", namespace]);
        let pod = &deployment["spec"]["template"]["spec"];
        let seconds = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
        let mut child = self.operator.take().unwrap();
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let until = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < until {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        self.operator = Some(child);
        panic!("it does not end");
    }
}

/// Polls until there is something.
fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "not within {PATIENCE:?}: {what}");
        thread::sleep(Duration::from_millis(200));
    }
}

/// What the container of a Deployment is started with.
fn arguments(deployment: &Value) -> Vec<String> {
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    serde_json::from_value(container["args"].clone()).unwrap()
}

/// What the notes say to apply.
fn example(notes: &str) -> &str {
    let (_, rest) = notes.split_once("<<'EOF'\n").unwrap();
    rest.split_once("\nEOF\n").unwrap().0
}

/// Values as they are, all that can be, and one namespace alone.
fn sets() -> [Vec<String>; 3] {
    let everything = text(&chart(EVERYTHING));
    [
        vec![],
        vec!["--values".into(), everything],
        vec!["--set".into(), "watchNamespace=shop".into()],
    ]
}

fn borrowed(values: &[String]) -> Vec<&str> {
    values.iter().map(String::as_str).collect()
}

fn lint_has_nothing_to_say(bench: &Bench) {
    for values in sets() {
        let chart = text(&chart(""));
        let lint = [&["lint", "--strict", "--quiet", &chart][..], &borrowed(&values)].concat();
        assert_eq!(bench.helm(&lint).as_deref().map(str::trim), Ok(""), "{values:?}");
    }
}

/// Misspelt or impossible values are refused before anything is installed, by name.
fn bad_values_are_refused(bench: &Bench) {
    for (value, words) in [
        ("replica=3", "additional properties 'replica' not allowed"),
        ("replicas=two", "/replicas"),
        ("replicas=-1", "/replicas"),
        ("image.pullPolicy=Sometimes", "/image/pullPolicy"),
        ("image.digest=sha256:12", "/image/digest"),
        ("image.repository=", "/image/repository"),
        ("image.repository=foo/op:1.0", "/image/repository"),
        ("image.repository=registry:5000/foo/op:1.0", "/image/repository"),
        ("image.repository=foo/", "/image/repository"),
        ("metrics.serviceMonitor.interval=often", "/metrics/serviceMonitor/interval"),
        ("metrics.serviceMonitor.interval=1.5m", "/metrics/serviceMonitor/interval"),
        ("serviceAccount.name=Kron", "/serviceAccount/name"),
        ("serviceAccount.name=kron_operator", "/serviceAccount/name"),
        ("imagePullSecrets[0]=registry", "/imagePullSecrets/0"),
        ("watchNamespace=Shop", "/watchNamespace"),
        ("crds.instal=false", "additional properties 'instal' not allowed"),
        ("crds.keep=yes", "/crds/keep"),
        ("log.format=xml", "/log/format"),
        ("log.level=trace", "/log/level"),
        ("maxDispatchLag=10", "/maxDispatchLag"),
        ("maxDispatchLag=1d", "/maxDispatchLag"),
        ("concurrency=0", "/concurrency"),
        ("concurrency=65536", "/concurrency"),
        ("extraArgs=--listen=[::]:8080", "/extraArgs"),
        ("extraArgs[0]=debug", "/extraArgs/0': 'debug' does not match pattern '^--[a-z]'"),
        ("metrics.service.port=http", "/metrics/service/port"),
        ("metrics.serviceMonitor.enabled=1", "/metrics/serviceMonitor/enabled"),
        ("serviceAccount.annotations.number=1", "/serviceAccount/annotations/number"),
        ("resources.limit.memory=1Gi", "additional properties 'limit' not allowed"),
        ("terminationGracePeriodSeconds=5", "/terminationGracePeriodSeconds"),
        ("tolerations.key=gpu", "/tolerations"),
        ("fullnameOverride=1st", "/fullnameOverride"),
    ] {
        let Err(refused) = bench.render(&["--set", value]) else { panic!("{value} is accepted") };
        assert!(refused.contains(words), "{value}: {refused}");
    }
    for value in [
        "image.repository=registry:5000/foo/op",
        "image.repository=op",
        "metrics.serviceMonitor.interval=1m30s",
        "serviceAccount.name=kron.operator-1",
    ] {
        assert!(bench.render(&["--set", value]).is_ok(), "{value} is refused");
    }
}

/// Arguments that the chart sets, or that must be as they are: what is said of each, and what
/// its value can be if another value of the chart sets it.
const REFUSED: [(&str, &str, &str); 9] = [
    ("namespace", "set watchNamespace instead", "shop"),
    ("lease-name", "it is the name of everything, so set fullnameOverride instead", "another"),
    ("lease-namespace", "the lease is in the namespace of the release", ""),
    ("leader-elect", "replicas, and pods that follow each other, have to agree", ""),
    ("identity", "each pod goes by its own name", ""),
    ("max-dispatch-lag", "set maxDispatchLag instead", "5s"),
    ("concurrency", "set concurrency instead", "7"),
    ("log-format", "set log.format instead", "json"),
    ("log-level", "set log.level instead", "debug"),
];

/// What cannot be an extra argument is refused with the reason and what to do instead, which
/// works.
fn arguments_of_the_chart_are_refused(bench: &Bench) {
    let program = Cli::command();
    let run = program.find_subcommand("run").unwrap();
    let flags = run.get_arguments().filter_map(Arg::get_long);
    let flags: BTreeSet<&str> = flags.filter(|flag| !["help", "listen"].contains(flag)).collect();
    assert_eq!(flags, REFUSED.iter().map(|(flag, ..)| *flag).collect());

    let chart = text(&chart(""));
    let refused = REFUSED.iter().flat_map(|(flag, words, _)| {
        let arguments = [format!("--{flag}"), format!("--{flag}=1"), format!("--{flag} 1")];
        arguments.map(|argument| (argument, *words))
    });
    let words = "probes and the Service need port 8080, as in `--listen=[::]:8080`";
    let listens = ["--listen", "--listen=[::]:9090", "--listen [::]:8080", "--listen=[::]:80801"];
    let listens = listens.map(|argument| (argument.to_string(), words));
    let unknown = ["--lisen=[::]:8080", "--help", "--listens=[::]:8080", "--listen_=1", "--l"];
    let unknown = unknown.map(|argument| (argument.to_string(), "`kron-operator run` has no such"));
    for (argument, words) in refused.chain(listens).chain(unknown) {
        let values = format!("extraArgs[0]=--listen=[::]:8080,extraArgs[1]={argument}");
        let words = format!("extraArgs[1]: `{argument}` is refused: {words}");
        for command in [&["template", NAME][..], &["lint"]] {
            let said = bench.helm(&[command, &[&chart, "--set", &values]].concat());
            assert!(said.as_ref().is_err_and(|why| why.contains(&words)), "{words}: {said:?}");
        }
    }
    for (flag, words, value) in REFUSED.iter().filter(|(.., value)| !value.is_empty()) {
        let (_, name) = words.strip_suffix(" instead").unwrap().rsplit_once(' ').unwrap();
        let found = documents(&bench.render(&["--set", &format!("{name}={value}")]).unwrap());
        let arguments = arguments(kind(&found, "Deployment"));
        assert!(arguments.contains(&format!("--{flag}={value}")), "{flag}: {arguments:?}");
    }
}

/// Two ways to install the same thing: the manifests of `deploy` and the chart.
fn the_chart_makes_what_the_manifests_make(bench: &Bench) {
    let wanted = documents(&fs::read_to_string(root().join("deploy/operator.yaml")).unwrap());
    let found = documents(&bench.render(&[]).unwrap());
    let one_namespace = documents(&bench.render(&["--set", "watchNamespace=shop"]).unwrap());

    let rules = &kind(&wanted, "ClusterRole")["rules"];
    assert_eq!(kind(&found, "ClusterRole")["rules"], *rules);
    let lease = &kind(&wanted, "Role")["rules"];
    // Of leases, its own; the others of the namespace are none of its business.
    for rule in lease.as_array().unwrap() {
        let is_named = rule["resourceNames"] == json!([NAME]);
        assert!(is_named || rule["verbs"] == json!(["create"]), "{rule}");
    }
    assert_eq!(kind(&found, "Role")["rules"], *lease);
    // In one namespace the same rights by a Role there, and none elsewhere.
    let mut roles: Vec<_> =
        one_namespace.iter().filter(|document| document["kind"] == "Role").collect();
    roles.sort_by_key(|role| role["metadata"]["namespace"] == "shop");
    let [of_lease, of_work] = roles[..] else { panic!("{} roles", roles.len()) };
    assert_eq!((&of_lease["rules"], &of_work["rules"]), (lease, rules));
    assert_eq!(of_lease["metadata"]["namespace"], NAMESPACE);
    assert!(!one_namespace.iter().any(|document| document["kind"] == "ClusterRole"));

    let pod = |documents: &[Value]| kind(documents, "Deployment")["spec"]["template"].clone();
    let (wanted_pod, found_pod) = (pod(&wanted), pod(&found));
    for key in ["serviceAccountName", "securityContext"] {
        assert_eq!(found_pod["spec"][key], wanted_pod["spec"][key], "{key}");
    }
    let container = |pod: &Value| pod["spec"]["containers"][0].clone();
    let found_container = container(&found_pod);
    for (key, value) in container(&wanted_pod).as_object().unwrap() {
        if key != "args" {
            assert_eq!(found_container[key], *value, "{key}");
        }
    }

    let definition = kind(&found, "CustomResourceDefinition");
    let committed = read(&root().join("deploy/crd.yaml"));
    assert!(is_same(&definition["spec"], &committed["spec"]), "{}", definition["spec"]);
    assert_eq!(definition["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
}

/// Whatever looks for pods finds those of the Deployment; the program understands the
/// arguments that they have.
fn pods_are_found_and_understood(bench: &Bench) {
    for values in sets() {
        let found = documents(&bench.render(&borrowed(&values)).unwrap());
        let deployment = kind(&found, "Deployment");
        let labels = deployment["spec"]["template"]["metadata"]["labels"].as_object().unwrap();
        for (kind_of, path) in [
            ("Deployment", "/spec/selector/matchLabels"),
            ("PodDisruptionBudget", "/spec/selector/matchLabels"),
            ("Service", "/spec/selector"),
        ] {
            let selector = kind(&found, kind_of).pointer(path).unwrap().as_object().unwrap();
            assert!(!selector.is_empty(), "{kind_of}");
            for (key, value) in selector {
                assert_eq!(labels.get(key), Some(value), "{kind_of}");
            }
        }
        let arguments = [vec![NAME.to_string()], arguments(deployment)].concat();
        Cli::try_parse_from(&arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
    }
    let alone = bench.render(&["--set", "replicas=1"]).unwrap();
    assert!(!alone.contains("PodDisruptionBudget"), "one replica could never be drained");
}

/// By a server that knows every field, which refuses those that it does not know; a pod
/// even where the strictest security standard is enforced.
fn the_api_server_accepts_it(bench: &Bench) {
    let dry = ["apply", "--server-side", "--dry-run=server", "--filename=-"];
    for values in sets() {
        let manifests = bench.render(&borrowed(&values)).unwrap();
        let documents = documents(&manifests);
        let said = bench.cluster.kubectl_with_input(&dry, &manifests).unwrap();
        assert_eq!(said.matches("serverside-applied").count(), documents.len(), "{said}");

        let template = &kind(&documents, "Deployment")["spec"]["template"];
        let mut pod = template.clone();
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        pod["metadata"]["name"] = json!("a-pod");
        pod["metadata"]["namespace"] = json!(NAMESPACE);
        bench.cluster.kubectl_with_input(&dry, &pod.to_string()).unwrap();
    }
}

/// OPR-10: what is installed suffices for the operator to plan the `KronJob` of the notes;
/// an upgrade brings a newer definition, and no `KronJob` is lost, not even when the release
/// goes.
fn a_release_comes_and_goes(bench: &mut Bench) {
    let chart = text(&chart(""));
    let definition = ["crd", "kronjobs.kron.io"];
    let notes = bench.helm(&["install", NAME, &chart, "--namespace", NAMESPACE]).unwrap();
    wait("the resource", || bench.cluster.apply(example(&notes)).ok());
    bench.start_operator(NAMESPACE, NAME);
    wait("a plan", || bench.next_period("default", "hello").is_string().then_some(()));
    let hello = bench.get(&["kronjob", "hello"])["metadata"]["uid"].clone();

    let newer = text(&newer_chart(bench.cluster.directory()));
    let upgrade = ["upgrade", NAME, &newer, "--namespace", NAMESPACE, "--set", "replicas=3"];
    bench.helm(&upgrade).unwrap();
    let deployment = bench.get(&["deployment", NAME, "--namespace", NAMESPACE]);
    assert_eq!(deployment["spec"]["replicas"], 3);
    let has_newer = |bench: &Bench| bench.get(&definition).to_string().contains("TimeZone");
    assert!(has_newer(bench));
    bench.stop_operator(NAMESPACE, NAME);

    bench.helm(&["uninstall", NAME, "--namespace", NAMESPACE]).unwrap();
    let ours = "--selector=app.kubernetes.io/name=kron-operator";
    let kinds = "deployments,services,serviceaccounts,roles,rolebindings,poddisruptionbudgets,\
                 clusterroles,clusterrolebindings";
    wait("all to go", || (!bench.exists(&[kinds, ours, "--all-namespaces"])).then_some(()));
    assert_eq!(bench.get(&["kronjob", "hello"])["metadata"]["uid"], hello);

    only_one_namespace(bench);

    // The same release takes the definition over again, and lets it go when told to.
    bench.helm(&["install", NAME, &chart, "--namespace", NAMESPACE]).unwrap();
    assert!(!has_newer(bench));
    let forget = ["upgrade", NAME, &chart, "--namespace", NAMESPACE, "--set", "crds.keep=false"];
    let notes = bench.helm(&forget).unwrap();
    assert!(notes.contains("all KronJobs are deleted"), "{notes}");
    bench.helm(&["uninstall", NAME, "--namespace", NAMESPACE]).unwrap();
    wait("the definition to go", || (!bench.exists(&definition)).then_some(()));
}

/// A release for one namespace, which has rights there and looks nowhere else.
fn only_one_namespace(bench: &mut Bench) {
    let chart = text(&chart(""));
    let (name, namespace) = ("shop-kron-operator", "shop-operator");
    let values = ["--set", "watchNamespace=shop,crds.install=false,replicas=1"];
    let install = ["install", name, &chart, "--namespace", namespace];
    let notes = bench.helm(&[&install[..], &values].concat()).unwrap();
    let here = example(&notes);
    let elsewhere = here.replace("namespace: shop", "namespace: kron-system");
    assert_ne!(here, elsewhere);
    bench.cluster.apply(&elsewhere).unwrap();
    bench.cluster.apply(here).unwrap();
    bench.start_operator(namespace, name);
    wait("a plan", || bench.next_period("shop", "hello").is_string().then_some(()));
    assert!(bench.next_period(NAMESPACE, "hello").is_null());
    bench.stop_operator(namespace, name);
    bench.helm(&["uninstall", name, "--namespace", namespace]).unwrap();
}

/// A copy of the chart in which the definition calls a column otherwise.
fn newer_chart(directory: &Path) -> PathBuf {
    let newer = directory.join("newer");
    let copy = Command::new("cp").arg("-r").args([chart(""), newer.clone()]).status().unwrap();
    assert!(copy.success());
    let path = newer.join("files/crd.yaml");
    let definition = fs::read_to_string(&path).unwrap();
    let changed = definition.replace("name: Zone\n", "name: TimeZone\n");
    assert_ne!(definition, changed);
    fs::write(path, changed).unwrap();
    newer
}

/// One cluster for all: starting one takes longer than what is done with it.
#[test]
fn the_chart_works_on_a_real_api_server() {
    let Some(mut bench) = Bench::start("the_chart_works_on_a_real_api_server") else { return };
    lint_has_nothing_to_say(&bench);
    bad_values_are_refused(&bench);
    arguments_of_the_chart_are_refused(&bench);
    the_chart_makes_what_the_manifests_make(&bench);
    pods_are_found_and_understood(&bench);
    the_api_server_accepts_it(&bench);
    a_release_comes_and_goes(&mut bench);
}
