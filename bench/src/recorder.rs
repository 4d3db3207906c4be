//! The results of one command: a header, each record as soon as it is measured, what the machines left, and at the
//! end the whole run with its reports. Scenarios, procedures and single tests all record here.

use std::path::Path;

use linerate_results::record::{Measurement, NotMeasured, Provenance, Run};

use crate::baseline::Baseline;
use crate::machine::{Identity, MachineRecord};
use crate::provenance;
use crate::store::resume::{Finished, FinishedJob};
use crate::store::{Store, StoreError};

/// Records a run in a folder.
#[derive(Debug)]
pub struct Recorder {
    /// The run so far.
    pub run: Run,
    store: Store,
}

impl Recorder {
    /// Begins the run `name` in the folder `out`; a note on earlier results there is passed to `note`.
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written, or the folder in which another run is writing.
    pub fn begin(
        out: &Path,
        name: &str,
        title: String,
        provenance: Provenance,
        note: &mut dyn FnMut(&str),
    ) -> Result<Self, StoreError> {
        Self::begin_run(Run::new(name, title, provenance), out, note)
    }

    /// Begins `run`, which has no results yet, in the folder `out`, in the same way.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_run(run: Run, out: &Path, note: &mut dyn FnMut(&str)) -> Result<Self, StoreError> {
        let store = Store::create(out, &run)?;
        if let Some(earlier) = store.earlier_note() {
            note(&earlier);
        }
        Ok(Self { run, store })
    }

    /// Continues the run `run` in the folder `out`, or begins it if there is none. Returns the machines that finished.
    ///
    /// # Errors
    /// As [`Store::resume`].
    pub fn resume(mut run: Run, out: &Path) -> Result<(Self, Finished), StoreError> {
        let (store, before) = Store::resume(out, &run)?;
        let mut finished = Finished::new();
        if let Some((started, jobs)) = before {
            run.provenance.started = started;
            finished = jobs;
        }
        Ok((Self { run, store }, finished))
    }

    /// Appends the results of a machine that finished, with its record.
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written.
    pub fn append_finished(
        &self,
        results: &[Measurement],
        job: &FinishedJob,
    ) -> Result<(), StoreError> {
        self.store.append_finished(results, job)
    }

    /// Appends a result to the list in the folder. It is part of the run once it is [added](Self::add).
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written.
    pub fn append(&self, result: &Measurement) -> Result<(), StoreError> {
        self.store.append(result)
    }

    /// Adds results that are appended already.
    pub fn add(&mut self, results: impl IntoIterator<Item = Measurement>) {
        self.run.results.extend(results);
    }

    /// Appends a result and adds it.
    ///
    /// # Errors
    /// As for [`append`](Self::append); it is added in any case.
    pub fn record(&mut self, result: Measurement) -> Result<(), StoreError> {
        let appended = self.append(&result);
        self.add([result]);
        appended
    }

    /// Adds the components of a machine.
    pub fn add_identity(&mut self, identity: Identity) {
        provenance::add_identity(&mut self.run.provenance, identity);
    }

    /// Adds the record of the machine called `name`, and writes its files.
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written.
    pub fn add_machine(&mut self, name: &str, record: MachineRecord) -> Result<(), StoreError> {
        let job = self.keep(name, record)?;
        self.add_finished(job);
        Ok(())
    }

    /// Writes the files of the machine called `name`; returns its record without them.
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written.
    pub fn keep(&self, name: &str, record: MachineRecord) -> Result<FinishedJob, StoreError> {
        let artifacts = record.artifacts;
        let mut names = Vec::new();
        for (extension, content) in &artifacts.files {
            let file = format!("{name}.{extension}");
            self.store.write(&file, content)?;
            names.push(file);
        }
        Ok(FinishedJob {
            finished_job: name.to_owned(),
            results: 0,
            identity: None,
            virtual_ns: record.virtual_ns,
            trace_hash: artifacts.trace_hash,
            artifacts: names,
            profile: artifacts.profile,
            frames: record.frames,
        })
    }

    /// Adds the record of a machine whose files are written.
    pub fn add_finished(&mut self, job: FinishedJob) {
        let name = job.finished_job;
        let provenance = &mut self.run.provenance;
        provenance.virtual_ns += job.virtual_ns;
        if !job.trace_hash.is_empty() {
            provenance.trace_hash.insert(name.clone(), job.trace_hash);
        }
        provenance.artifacts.extend(job.artifacts);
        if let Some(profile) = job.profile {
            self.run.profiles.insert(name.clone(), profile);
        }
        if let Some(frames) = job.frames {
            self.run.frame_counts.insert(name, frames);
        }
    }

    /// Copies the file `from` into the folder as `name`.
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be read or written.
    pub fn copy(&self, from: &Path, name: &str) -> Result<(), StoreError> {
        let content = std::fs::read(from).map_err(|error| StoreError::Write {
            path: from.to_owned(),
            error,
        })?;
        self.store.write(name, &content)
    }

    /// Adds a part that was not measured, with the reason.
    pub fn not_measured(&mut self, what: String, why: &str) {
        self.run.not_measured.push(NotMeasured {
            what,
            why: why.to_owned(),
        });
    }

    /// Compares the run with `baseline`, if any, and writes it with everything derived from it.
    ///
    /// # Errors
    /// [`StoreError`] names the file that cannot be written.
    pub fn finish(mut self, baseline: Option<&Baseline>) -> Result<Run, StoreError> {
        if let Some(baseline) = baseline {
            let worse = baseline.compare(&self.run).failures();
            self.run.failures.extend(worse);
        }
        self.store.finish(&self.run)?;
        Ok(self.run)
    }
}
