use crate::task_log::{PAGE, TaskLog, add_lines};
use ripstop_estimator::LOG_HEADER;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::Duration,
};

/// Bytes from a file's end within which its last line begins.
const LINE_LEN_MAX: u64 = 256;

/// A task log file's named limits. [`Default`] gives the documented values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskLogFileSettings {
    /// At this many bytes the file is renamed, with `.1` added to its name and replacing a file
    /// of that name, and a new one is begun. 64 MiB.
    pub file_max: u64,
    /// How often records are written. 250 ms.
    pub write_every: Duration,
}

impl Default for TaskLogFileSettings {
    fn default() -> Self {
        Self { file_max: 64 << 20, write_every: Duration::from_millis(250) }
    }
}

/// Why a task log cannot be appended to a file.
#[derive(Debug, thiserror::Error)]
pub enum TaskLogError {
    /// A file of that name exists and is not a task log.
    #[error("task log {} exists and does not begin like one: move it away", .0.display())]
    Foreign(PathBuf),
    /// The system says no.
    #[error("task log {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Appends the logs of some pools to a file, on a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct TaskLogFile {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl TaskLogFile {
    /// Appends from now on what comes into `logs`, in the form of [`LOG_HEADER`].
    pub fn append(
        path: &Path,
        logs: Vec<Arc<TaskLog>>,
        settings: TaskLogFileSettings,
    ) -> Result<Self, TaskLogError> {
        let mut appender = Appender::open(path, logs, settings.file_max)?;
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = ripstop_host::thread("task-log", move || {
            while stopped.recv_timeout(settings.write_every) == Err(mpsc::RecvTimeoutError::Timeout)
            {
                appender.write_new();
            }
            appender.write_new();
        });
        let thread = thread.map_err(|source| TaskLogError::Io { path: path.into(), source })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for TaskLogFile {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the task log's thread panicked");
        }
    }
}

struct Appender {
    path: PathBuf,
    file: File,
    len: u64,
    file_max: u64,
    /// Each log, and the number of its next record.
    logs: Vec<(Arc<TaskLog>, u64)>,
    /// Whether the last write failed, so that it is said once.
    failing: bool,
}

impl Appender {
    fn open(path: &Path, logs: Vec<Arc<TaskLog>>, file_max: u64) -> Result<Self, TaskLogError> {
        let io = |source| TaskLogError::Io { path: path.into(), source };
        let mut file = open(path).map_err(io)?;
        let len = match trim(&mut file).map_err(io)? {
            None => return Err(TaskLogError::Foreign(path.into())),
            Some(0) => begin(&mut file).map_err(io)?,
            Some(len) => len,
        };
        let logs = logs.into_iter().map(|log| (log, 0)).collect();
        Ok(Self { path: path.into(), file, len, file_max, logs, failing: false })
    }

    fn write_new(&mut self) {
        let mut page = Vec::with_capacity(PAGE);
        for at in 0..self.logs.len() {
            loop {
                let (log, from) = self.logs[at].clone();
                let (next, missed) = log.read(from, &mut page);
                log.miss(missed);
                self.logs[at].1 = next;
                if page.is_empty() {
                    break;
                }
                let mut lines = String::new();
                add_lines(&mut lines, &page);
                if let Err(error) = self.write(&lines) {
                    log.miss(next - from - missed);
                    if !self.failing {
                        tracing::warn!(path = %self.path.display(), %error, "the task log has gaps");
                    }
                    self.failing = true;
                } else {
                    self.failing = false;
                }
            }
        }
    }

    fn write(&mut self, lines: &str) -> io::Result<()> {
        if self.len >= self.file_max {
            let mut old = self.path.clone().into_os_string();
            old.push(".1");
            fs::rename(&self.path, old)?;
            self.file = open(&self.path)?;
            self.len = 0;
        }
        if self.len == 0 {
            self.len = begin(&mut self.file)?;
        }
        if let Err(error) = self.file.write_all(lines.as_bytes()) {
            // Half a line would make the whole file unreadable.
            self.file.set_len(self.len)?;
            self.file.seek(SeekFrom::End(0))?;
            return Err(error);
        }
        self.len += lines.len() as u64;
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    // It tells who is served how much: nobody but the owner reads it.
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn begin(file: &mut File) -> io::Result<u64> {
    let header = format!("{LOG_HEADER}\n");
    file.write_all(header.as_bytes())?;
    Ok(header.len() as u64)
}

/// Goes to the end of a file's last whole line and returns where that is; cuts off what a process
/// that was killed left of another. None if the file is no task log.
fn trim(file: &mut File) -> io::Result<Option<u64>> {
    let len = file.metadata()?.len();
    // With its end: a newer program's header has more columns, which lines of ours would lack.
    let header = format!("{LOG_HEADER}\n");
    let mut head = vec![0; header.len().min(len as usize)];
    file.read_exact(&mut head)?;
    if !header.as_bytes().starts_with(&head) {
        return Ok(None);
    }
    let start = len.saturating_sub(LINE_LEN_MAX);
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.read_to_end(&mut end)?;
    let Some(whole) = end.iter().rposition(|byte| *byte == b'\n') else {
        // Not even the header was written to its end; or it goes on differently.
        let cut = len <= LOG_HEADER.len() as u64;
        if cut {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
        }
        return Ok(cut.then_some(0));
    };
    let whole = start + whole as u64 + 1;
    if whole <= LOG_HEADER.len() as u64 {
        return Ok(None);
    }
    file.set_len(whole)?;
    file.seek(SeekFrom::Start(whole))?;
    Ok(Some(whole))
}
