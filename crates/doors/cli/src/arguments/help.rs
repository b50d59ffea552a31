//! The long help texts of commands.

/// The text after the options of `why`.
pub(super) const WHY_HELP: &str = "\
Examples:
  parades why phold --event 3:1.5s             (the last event of LP 3 up to 1.5 s)
  parades why network --event west.0:5s        (the last event of the node west.0 up to 5 s)
  parades why campus --event 17:4.249916949073s:16#21919   (the event that LP 16 sent as its number 21919)
  parades why faulty --set fault=fail

Each line is an event. It was sent, or set as a timer, during the event of the line above. Indented lines say what else happened, such as a lost packet. The run is executed twice: once to find the chain, \
once to write it. Memory: four bytes for each event before the one asked about.";

/// The text after the options of `merge`.
pub(super) const MERGE_HELP: &str = "\
Examples:
  parades sweep mm1 --set utilisation=0.5,0.7 --seeds 1..30 --shard 1/2 --out results/1
  parades sweep mm1 --set utilisation=0.5,0.7 --seeds 1..30 --shard 2/2 --out results/2
  parades merge results --out merged

The tables are those of one `sweep` without shards, whatever the number of shards. Shards may overlap: the digests and metrics of a run that was executed twice must agree, or the exit status is 1. Shards of other \
sweeps or programs are refused. If runs are missing, they are named with the commands that execute them, and the exit status is 1. Files that the sweep reads must be at the same paths.";

/// The text after the options of `sweep`.
pub(super) const SWEEP_HELP: &str = "\
Examples:
  parades sweep mm1 --set utilisation=0.5,0.7,0.9 --set customers=20000 --seeds 1..30
  parades sweep mm1 --set utilisation=0.5,0.7 --metric sojourn --until-interval 1%
  parades sweep campus --seeds 1..100 --jobs 8 --out results

The last command, given again after it was killed, goes on: its journal has the runs that are over. You may add seeds and values. A failed run is \
a row with its error; the other runs go on, and the exit status is 1. Tables depend neither on --jobs nor on kills. Times and memory differ from run \
to run; they are in the JSON alone.

Intervals are Student's t over the runs of a point, which differ in their seed alone and so are independent. All points have the same seeds, so \
points can be compared seed by seed. A run's own steady-state mean (by batch means, without the warm-up) is averaged like any other metric.

With --until-interval, each point has 10 runs at first. Then it gets the number of runs that its interval asks for: at least a fifth more each time, \
at most twice as many. A sweep that stops where an interval happens to be narrow has intervals that hold the truth a little less often than 95 % of \
the time: 94 to 95 % where results are normally distributed, less where they are far from that.

Put a value that holds a comma in double quotes: --set 'note=\"a, b\",c'.";
