//! A Slurm of its own: `munged`, `slurmctld` and two `slurmd`, each in the foreground, with all files in one folder.

use crate::sh;
use anyhow::{Context, Result, bail};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The programs of Debian's packages munge, slurmctld, slurmd and slurm-client.
pub const PROGRAMS: [&str; 6] = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo"];
/// The only partition.
pub const PARTITION: &str = "main";
const SECOND: &str = "node1";
/// Between two looks at the queue.
const PAUSE: Duration = Duration::from_millis(200);
/// Longest time until all nodes are idle after the start, and until a process ends.
const UNTIL_READY: Duration = Duration::from_mins(1);
const UNTIL_STOPPED: Duration = Duration::from_secs(20);
/// Seconds without an answer until a node is down, and until a job may begin again.
const NODE_TIMEOUT_S: u32 = 5;
const REPEAT_S: u32 = 5;

/// The running processes, which end with it.
pub struct Cluster {
    folder: PathBuf,
    /// In the order of their start: `munged`, `slurmctld`, the nodes.
    processes: Mutex<Vec<Child>>,
}

impl Cluster {
    /// Starts it with its files in `folder`; returns when both nodes are idle.
    ///
    /// # Errors
    /// A file cannot be written, a program does not start, or the nodes are not idle in time.
    pub fn start(folder: &Path) -> Result<Self> {
        let cluster = Self {
            folder: folder.to_owned(),
            processes: Mutex::default(),
        };
        fs::create_dir_all(folder.join("state"))?;
        // `munged` refuses a key that others may read, and a socket that others cannot reach.
        let key = folder.join("munge.key");
        let mut random = vec![0; 128];
        std::io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut random)?;
        fs::write(&key, random)?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
        let [controller, first, second] = ports()?;
        fs::write(
            folder.join("slurm.conf"),
            configuration(folder, controller, [first, second])?,
        )?;
        // Without it, Slurm looks for the control groups of the system.
        fs::write(folder.join("cgroup.conf"), "CgroupPlugin=cgroup/v1\n")?;
        let of_munge = |name: &str, file: &str| format!("--{name}={}", folder.join(file).display());
        cluster.spawn(
            sh::cmd("munged").arg("--foreground").arg("--force").args([
                of_munge("socket", "munge.socket"),
                of_munge("key-file", "munge.key"),
                of_munge("log-file", "munge.log"),
                of_munge("pid-file", "munge.pid"),
                of_munge("seed-file", "munge.seed"),
            ]),
            "munged",
        )?;
        cluster.wait(UNTIL_READY, "munged has no socket", |it| {
            Ok(it.folder.join("munge.socket").exists().then_some(()))
        })?;
        cluster.spawn(sh::cmd("slurmctld").args(["-D", "-i"]), "controller")?;
        for node in ["node0", SECOND] {
            cluster.spawn(sh::cmd("slurmd").args(["-D", "-N", node]), node)?;
        }
        cluster.wait(UNTIL_READY, "the nodes are not idle", |it| {
            let states = it.ask("sinfo", &["--noheader", "--Node", "--format=%t"]);
            let states = states.unwrap_or_default();
            let idle = states.lines().filter(|state| state.trim() == "idle");
            Ok((idle.count() == 2).then_some(()))
        })?;
        Ok(cluster)
    }

    /// Lets a client of Slurm find this one.
    pub fn reached_by<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("SLURM_CONF", self.folder.join("slurm.conf"))
    }

    fn spawn(&self, command: &mut Command, name: &str) -> Result<()> {
        let output = fs::File::create(self.folder.join(format!("{name}.out")))?;
        let child = self
            .reached_by(command)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot start `{}`", sh::show(command)))?;
        self.processes().push(child);
        Ok(())
    }

    fn processes(&self) -> std::sync::MutexGuard<'_, Vec<Child>> {
        let processes = self.processes.lock();
        processes.unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn ask(&self, program: &str, arguments: &[&str]) -> Result<String> {
        sh::read(self.reached_by(sh::cmd(program).args(arguments)))
    }

    /// Asks `condition` again and again until it has a value.
    ///
    /// # Errors
    /// It fails, or has none after `most`: the error is `what`.
    pub fn wait<T>(
        &self,
        most: Duration,
        what: &str,
        mut condition: impl FnMut(&Self) -> Result<Option<T>>,
    ) -> Result<T> {
        let end = Instant::now() + most;
        loop {
            if let Some(value) = condition(self)? {
                return Ok(value);
            }
            if Instant::now() > end {
                let seconds = most.as_secs();
                bail!("{what} after {seconds} s; logs: {}", self.folder.display());
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Number of the array's task that the second node runs, if there is one.
    ///
    /// # Errors
    /// The controller does not answer.
    pub fn task_of_second_node(&self) -> Result<Option<String>> {
        let node = format!("--nodelist={SECOND}");
        let tasks = self.ask(
            "squeue",
            &["--noheader", "--states=R", &node, "--format=%K"],
        )?;
        Ok(tasks.lines().next().map(|it| it.trim().to_owned()))
    }

    /// True if no job waits or runs.
    ///
    /// # Errors
    /// The controller does not answer.
    pub fn is_idle(&self) -> Result<bool> {
        Ok(self.ask("squeue", &["--noheader"])?.trim().is_empty())
    }

    /// Ends the second node as a loss of power does: its `slurmd`, the supervisors of its jobs and their processes.
    ///
    /// # Errors
    /// The processes cannot be listed.
    pub fn kill_second_node(&self) -> Result<()> {
        if let Some(node) = self.processes().get_mut(3) {
            node.kill()?;
            node.wait()?;
        }
        let of_node = self.processes_of(SECOND)?;
        if of_node.is_empty() {
            bail!("{SECOND} runs no process of a job");
        }
        for process in of_node {
            sh::read(sh::cmd("kill").args(["-KILL", &process.to_string()])).ok();
        }
        Ok(())
    }

    /// Processes of jobs of this Slurm on `node`, and the supervisors that started them.
    fn processes_of(&self, node: &str) -> Result<Vec<u32>> {
        let of_node = format!("SLURMD_NODENAME={node}");
        let of_this = format!("SLURM_CONF={}", self.folder.join("slurm.conf").display());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")?.flatten() {
            let name = entry.file_name();
            let Some(id) = name.to_str().and_then(|it| it.parse::<u32>().ok()) else {
                continue;
            };
            // It may have ended meanwhile.
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let has = |variable: &str| {
                let mut all = environment.split(|byte| *byte == 0);
                all.any(|it| it == variable.as_bytes())
            };
            if !has(&of_node) || !has(&of_this) {
                continue;
            }
            found.push(id);
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let parent = stat
                .rsplit_once(')')
                .and_then(|(_, it)| it.split_whitespace().nth(1));
            let Some(parent) = parent else { continue };
            let name = fs::read_to_string(format!("/proc/{parent}/comm"));
            if name.is_ok_and(|it| it.trim() == "slurmstepd") {
                found.extend(parent.parse::<u32>());
            }
        }
        Ok(found)
    }

    /// Ends all processes, the last one first.
    pub fn stop(&self) {
        for node in ["node0", SECOND] {
            for process in self.processes_of(node).unwrap_or_default() {
                sh::read(sh::cmd("kill").args(["-KILL", &process.to_string()])).ok();
            }
        }
        while let Some(mut process) = self.processes().pop() {
            sh::read(sh::cmd("kill").arg(process.id().to_string())).ok();
            let end = Instant::now() + UNTIL_STOPPED;
            while matches!(process.try_wait(), Ok(None)) && Instant::now() < end {
                std::thread::sleep(PAUSE);
            }
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Free TCP ports of the controller and of the nodes.
fn ports() -> Result<[u16; 3]> {
    let listeners = [0; 3].map(|_| TcpListener::bind("127.0.0.1:0"));
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(listeners) {
        *port = listener?.local_addr()?.port();
    }
    Ok(ports)
}

/// `slurm.conf`: no accounting, no control groups, one processor for each node.
fn configuration(folder: &Path, controller: u16, nodes: [u16; 2]) -> Result<String> {
    let host = sh::read(&mut sh::cmd("hostname"))?;
    let host = host.trim();
    let folder = folder.display();
    let [first, second] = nodes;
    Ok(format!(
        "ClusterName=linerate\n\
         SlurmctldHost={host}(127.0.0.1)\n\
         SlurmctldPort={controller}\n\
         SlurmUser=root\n\
         SlurmdUser=root\n\
         AuthType=auth/munge\n\
         AuthInfo=socket={folder}/munge.socket,cred_expire={REPEAT_S}\n\
         StateSaveLocation={folder}/state\n\
         SlurmctldPidFile={folder}/slurmctld.pid\n\
         SlurmctldLogFile={folder}/slurmctld.log\n\
         SlurmdPidFile={folder}/slurmd-%n.pid\n\
         SlurmdLogFile={folder}/slurmd-%n.log\n\
         SlurmdSpoolDir={folder}/spool-%n\n\
         SlurmdParameters=config_overrides\n\
         SlurmdTimeout={NODE_TIMEOUT_S}\n\
         ProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/none\n\
         AccountingStorageType=accounting_storage/none\n\
         SelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\n\
         SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0\n\
         MailProg=/bin/true\n\
         NodeName=node0 NodeAddr=127.0.0.1 NodeHostname={host} Port={first} CPUs=1\n\
         NodeName=node1 NodeAddr=127.0.0.1 NodeHostname={host} Port={second} CPUs=1\n\
         PartitionName={PARTITION} Nodes=node0,node1 Default=YES MaxTime=INFINITE State=UP\n"
    ))
}
