//! Branches of a stepped run under a model with other constants.

use super::thread::{Begin, read};
use super::{Run, Steppable, refused};
use parades_core::any_model::with_model;
use parades_core::cut::Branch;
use parades_core::error::Error;
use parades_core::model::Model;
use parades_core::run::RunOptions;

impl<M: Model + Send + 'static> Run<M> {
    /// Returns a second run that goes on from the same place under another model of this type, whose
    /// constants differ: the rate of a link, the length of a service. The model may plan again what the old
    /// constants have decided ([`SaveModel::branch`](parades_core::any_model::SaveModel::branch)). The run
    /// itself is as it was.
    ///
    /// # Errors
    ///
    /// As [`Run::branch`]; also if a state cannot go on under this model.
    pub fn branch_with(&mut self, model: impl Into<Steppable<M>>) -> Result<Run<M>, Error> {
        let (cut, model) = (self.cut()?, model.into());
        let cut = model.branch(self.options.options(), &cut)?;
        Run::begin(model, self.engine, self.options, None, Begin::Cut(cut))
    }
}

impl<M: Model> Steppable<M> {
    /// Returns the bytes of a cut that another model has made, as those of a branch under this one.
    fn branch(&self, options: RunOptions<'static>, cut: &[u8]) -> Result<Vec<u8>, Error> {
        let branch = Branch { tie_seed: options.tie_seed, ..Branch::default() };
        with_model(&*self.model, options, |typed, _| {
            let Some(save) = self.save.map(|view| view(typed)) else {
                return Err(refused("it is not said how the states of the other model are read"));
            };
            let mut cut = read(Some(save), cut)?;
            cut.branch(save, &branch).map_err(refused)?;
            let mut bytes = Vec::new();
            cut.at_rest(save, |run| run.write(&mut bytes))?;
            Ok(bytes)
        })
    }
}
