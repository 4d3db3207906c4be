//! The results of a command that records on request only, in a folder or as JSON.

use linerate_bench::recorder::Recorder;
use linerate_results::record::{Measurement, Provenance, Run};

use crate::args;
use crate::failure::Failure;
use crate::output;

/// A run that has begun.
pub struct Record<'a> {
    header: Run,
    /// Of the requested folder.
    recorder: Option<Recorder>,
    requested: &'a args::Record,
}

impl<'a> Record<'a> {
    /// Begins the run of the command `name`, in the folder if one is requested.
    pub fn begin(
        requested: &'a args::Record,
        name: &str,
        title: &str,
        provenance: Provenance,
    ) -> Result<Self, Failure> {
        let header = Run::new(name, title.to_owned(), provenance);
        let note = &mut |note: &str| message!("{note}");
        let folder = requested.out.as_ref();
        let recorder = folder.map(|out| Recorder::begin_run(header.clone(), out, note));
        Ok(Self {
            header,
            recorder: recorder.transpose().map_err(anyhow::Error::new)?,
            requested,
        })
    }

    /// Adds the components of the machine that ran.
    #[cfg(target_os = "linux")]
    pub fn add_identity(&mut self, identity: linerate_bench::machine::Identity) {
        use linerate_bench::provenance;

        match &mut self.recorder {
            Some(recorder) => recorder.add_identity(identity),
            None => provenance::add_identity(&mut self.header.provenance, identity),
        }
    }

    /// Writes the run with its result and prints it as `text`, unless stdout has it as JSON.
    pub fn finish(self, result: Measurement, text: &str) -> Result<(), Failure> {
        let failures = result.describe().failures();
        let run = match self.recorder {
            Some(mut recorder) => {
                recorder.record(result).map_err(anyhow::Error::new)?;
                recorder.finish(None).map_err(anyhow::Error::new)?
            }
            None => Run {
                results: vec![result],
                ..self.header
            },
        };
        if let Some(out) = &self.requested.out {
            message!("report: {}", out.join("report.html").display());
        }
        if !output::write_or_print(self.requested.json.as_deref(), &run.to_json())? {
            output::print(text)?;
        }
        if failures.is_empty() {
            Ok(())
        } else {
            Err(Failure::Limit(failures))
        }
    }
}
