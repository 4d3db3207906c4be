//! The results of one command: a header, each record as soon as it is measured, what the machines left, and at the
//! end the whole run with its reports. Scenarios, procedures and single tests all record here.

use std::path::Path;

use linerate_results::record::{Measurement, NotMeasured, Provenance, Run};

use crate::baseline::Baseline;
use crate::machine::{Identity, MachineRecord};
use crate::provenance;
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
        let run = Run::new(name, title, provenance);
        let store = Store::create(out, &run)?;
        if let Some(earlier) = store.earlier_note() {
            note(&earlier);
        }
        Ok(Self { run, store })
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
        let artifacts = record.artifacts;
        let provenance = &mut self.run.provenance;
        provenance.virtual_ns += record.virtual_ns;
        if !artifacts.trace_hash.is_empty() {
            let hash = artifacts.trace_hash;
            provenance.trace_hash.insert(name.to_owned(), hash);
        }
        for (extension, content) in &artifacts.files {
            let file = format!("{name}.{extension}");
            self.store.write(&file, content)?;
            provenance.artifacts.push(file);
        }
        if let Some(profile) = artifacts.profile {
            self.run.profiles.insert(name.to_owned(), profile);
        }
        if let Some(frames) = record.frames {
            self.run.frame_counts.insert(name.to_owned(), frames);
        }
        Ok(())
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
