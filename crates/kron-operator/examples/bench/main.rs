//! The operator beside Kubernetes' own `CronJob` controller, on a real API server.
//!
//! For each size and contender a fresh control plane, so many objects that are due in the
//! same second, and the audit log of the API server as the clock. Jobs are suspended: nobody
//! but the contender has anything to do with them. `make bench-operator` runs it; with
//! arguments `COUNT CONTENDER` only that row.

mod audit;
mod contender;

use audit::Audit;
use contender::Contender;
use kron_cluster::{AUDIT_METADATA, Cluster, Options};
use kron_operator::tell::now;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Request;
use kube::{Client, Config};
use serde_json::Value;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

/// Requests that create objects, under way at once.
const CREATORS: usize = 16;
/// Longest that all Jobs are waited for.
const PATIENCE: i64 = 150;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    println!("| Due at once | | First | p50 | p99 | Last | Requests a run | CPU a run |");
    println!("|---|---|---|---|---|---|---|---|");
    match words[..] {
        [] => {
            for count in [500, 1000] {
                for contender in Contender::ALL {
                    herd(count, contender)?;
                }
            }
            println!("\n| 10,000 objects | All planned | Ready again | Memory | At most |");
            println!("|---|---|---|---|---|");
            for contender in [Contender::Plain, Contender::Kron] {
                crowd(10_000, contender)?;
            }
        }
        ["crowd", count, name] => crowd(count.parse()?, Contender::named(name)?)?,
        [count, name] => herd(count.parse()?, Contender::named(name)?)?,
        _ => return Err("usage: bench [[crowd] COUNT plain|tuned|kron]".into()),
    }
    Ok(())
}

/// How late each of many Jobs is that are due at once.
fn herd(count: usize, contender: Contender) -> Result<(), Box<dyn Error>> {
    let mut cluster = start(contender)?;
    // Time to create them, and for the contender to look at them.
    let ready = now().unix_seconds() + 25 + count as i64 / 40;
    let due = (ready / 60 + 1) * 60;
    let schedule = format!("{} * * * *", due / 60 % 60);
    create(&cluster, count, contender, &schedule)?;
    let mut running = contender.run(&mut cluster)?;
    if now().unix_seconds() > due - 5 {
        return Err("it took too long to create them".into());
    }
    sleep_until(due - 2);
    let before = running.cpu(&cluster)?;
    let all = loop {
        std::thread::sleep(Duration::from_secs(1));
        let audit = Audit::read(&cluster.audit_log())?;
        if audit.created().len() >= count || now().unix_seconds() > due + PATIENCE {
            break now().unix_seconds();
        }
    };
    // What comes afterwards belongs to it.
    sleep_until((due + 35).max(all + 10));
    let used = running.cpu(&cluster)?.saturating_sub(before);
    running.stop()?;
    let audit = Audit::read(&cluster.audit_log())?;
    let late = audit.late(due);
    if late.len() != count {
        return Err(format!("{} of {count} Jobs", late.len()).into());
    }
    let at = |share: f64| late[((count as f64 * share).ceil() as usize).clamp(1, count) - 1];
    println!(
        "| {count} | {} | {:.0} ms | {:.0} ms | {:.0} ms | {:.0} ms | {:.2} | {:.1} ms |",
        contender.title(),
        late[0],
        at(0.5),
        at(0.99),
        late[count - 1],
        audit.requests_since(due - 1) as f64 / count as f64,
        used.as_secs_f64() * 1000.0 / count as f64,
    );
    Ok(())
}

/// What many objects cost of which none is due.
fn crowd(count: usize, contender: Contender) -> Result<(), Box<dyn Error>> {
    let mut cluster = start(contender)?;
    create(&cluster, count, contender, "0 0 1 1 *")?;
    let begun = Instant::now();
    let mut running = contender.run(&mut cluster)?;
    running.wait_for_plans(count)?;
    let first = begun.elapsed();
    // A collector of garbage may need some time to give something back.
    std::thread::sleep(Duration::from_secs(20));
    let (memory, most) = running.memory(&cluster)?;
    running.stop()?;
    // Kubernetes' controller says nothing by which its first look could be told.
    let times = if contender == Contender::Kron {
        let begun = Instant::now();
        contender.run(&mut cluster)?.stop()?;
        format!("{:.1} s | {:.1} s", first.as_secs_f64(), begun.elapsed().as_secs_f64())
    } else {
        " | ".into()
    };
    let (memory, most, title) = (memory / 1024, most / 1024, contender.title());
    println!("| {title} | {times} | {memory} MB | {most} MB |");
    Ok(())
}

fn start(contender: Contender) -> Result<Cluster, Box<dyn Error>> {
    let options = Options { audit_policy: Some(AUDIT_METADATA.into()), ..Options::default() };
    let cluster = Cluster::start(&options)?;
    contender.install(&cluster)?;
    Ok(cluster)
}

fn sleep_until(second: i64) {
    while now().unix_seconds() < second {
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Creates so many objects, several at a time.
fn create(
    cluster: &Cluster,
    count: usize,
    contender: Contender,
    schedule: &str,
) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Runtime::new()?;
    let kubeconfig = cluster.kubeconfig();
    runtime.block_on(async {
        let client = client(&kubeconfig).await?;
        let mut tasks = tokio::task::JoinSet::new();
        for worker in 0..CREATORS {
            let (client, schedule) = (client.clone(), schedule.to_string());
            tasks.spawn(async move {
                for number in (worker..count).step_by(CREATORS) {
                    let (path, object) = contender.object(number, &schedule);
                    let bytes = serde_json::to_vec(&object).map_err(kube::Error::SerdeError)?;
                    let request =
                        Request::new(path).create(&kube::api::PostParams::default(), bytes);
                    let request = request.map_err(kube::Error::BuildRequest)?;
                    client.request::<Value>(request).await?;
                }
                Ok::<(), kube::Error>(())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        Ok(())
    })
}

async fn client(kubeconfig: &Path) -> Result<Client, Box<dyn Error>> {
    let config = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
