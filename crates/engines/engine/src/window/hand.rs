//! The state of a worker that no other worker touches.

use super::Crew;
use crate::costs::Sampler;
use crate::ledger::Ledger;
use parades_core::any_model::{Hidden, Packed, in_form};
use parades_core::effects::AnyEffects;
use parades_core::placement::Placement;
use parades_core::time::Time;
use parades_transport::{Conservative, ParcelRef, Transport};

/// The state that belongs to one worker.
pub(crate) struct Hand<'k> {
    pub(crate) worker: usize,
    pub(crate) placement: Placement,
    pub(crate) effects: AnyEffects<'k>,
    /// The number of events executed.
    pub(crate) events: u64,
    pub(crate) ledger: Ledger<'k>,
    pub(crate) sampler: Sampler,
}

impl<'k> Hand<'k> {
    /// Makes the hand of a worker of `crew`. The worker's thread must call this.
    pub(crate) fn of(crew: &Crew<'k>, worker: usize, placement: &Placement) -> Hand<'k> {
        Hand {
            worker,
            placement: placement.clone(),
            effects: AnyEffects::partitioned(crew.model.form(), placement),
            events: 0,
            ledger: Ledger::new(crew.traces),
            sampler: Sampler::new(crew.samples()),
        }
    }

    /// Sets a new placement of the LPs.
    pub(crate) fn set_placement(&mut self, placement: &Placement) {
        self.placement = placement.clone();
        self.effects = AnyEffects::partitioned(self.effects.form(), placement);
    }

    /// Returns the events for another partition, if there are any.
    pub(crate) fn parcel(&mut self, partition: u32) -> Option<ParcelRef<'_, 'k, Conservative>> {
        fn parcel_in<'a, 'k, P: Packed<'k>>(
            effects: &'a mut AnyEffects<'k>,
            partition: u32,
        ) -> Option<ParcelRef<'a, 'k, Conservative>> {
            let parcel = &mut effects.of_mut::<P>().outbox.parcels[partition as usize];
            (!parcel.is_empty()).then(|| Hidden::new::<P>(parcel))
        }
        in_form!(self.effects.form(), parcel_in(&mut self.effects, partition))
    }

    /// Sends the events for other partitions. Returns the time of the earliest, and lowers the fronts of the
    /// partitions that `fronts` has.
    pub(crate) fn flush(&mut self, transport: &(dyn Transport<'k, Conservative> + 'k), fronts: &mut [u64]) -> Time {
        fn flush_in<'k, P: Packed<'k>>(
            effects: &mut AnyEffects<'k>,
            worker: usize,
            transport: &(dyn Transport<'k, Conservative> + 'k),
            fronts: &mut [u64],
        ) -> Time {
            let outbox = &mut effects.of_mut::<P>().outbox;
            let mut fronts = fronts.iter_mut();
            for (partition, parcel) in (0..).zip(&mut outbox.parcels) {
                let front = fronts.next();
                if !parcel.is_empty() {
                    if let Some(front) = front {
                        let times = parcel.iter().map(|event| event.time().as_ps());
                        *front = times.min().unwrap_or(u64::MAX).min(*front);
                    }
                    transport.send(worker, partition, Hidden::new::<P>(parcel));
                }
            }
            std::mem::replace(&mut outbox.parcels_min, Time::MAX)
        }
        in_form!(self.effects.form(), flush_in(&mut self.effects, self.worker, transport, fronts))
    }
}
