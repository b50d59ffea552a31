//! Processes that a deployment begins on the hosts of a platform.

use super::on_platform::{OnPlatform, PlatformProgram};
use parades_config::{ConfigError, Place, Spot};
use parades_core::event::LpId;
use parades_flow::platform::{HostId, Platform};
use parades_flow::xml::deployment::{self, Deployed};
use parades_program::{Node, Start};
use std::fmt;
use std::path::Path;
use std::pin::Pin;

/// The code of a process, which gets its arguments.
pub type Function<P> = fn(Node<P>, Vec<String>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// The processes of a deployment file, with the functions that they run.
///
/// Node *i* must be on host *i*: the program has as many nodes as the platform has hosts. Then
/// [`Deployment::begin`] begins the processes of a node, and [`Deployment::begin_again`] those that begin
/// again with their host.
///
/// # Examples
///
/// ```
/// use parades_carriers::flow_level::{Deployment, Function, OnPlatform};
/// use parades_carriers::FlowLevel;
/// use parades_core::prelude::*;
/// use parades_flow::network_model::{MaxMinModel, NetworkModel};
/// use parades_program::{Node, Processes, Program, Start};
///
/// struct Work { carrier: FlowLevel<u64>, deployment: Deployment<Work> }
///
/// async fn computes(node: Node<Work>, arguments: Vec<String>) {
///     let flops = arguments[0].parse().expect("a number of flops");
///     node.compute(flops).await.expect("the host works");
///     node.with(|here| *here.state = Some(here.now()));
/// }
///
/// const FUNCTIONS: [(&str, Function<Work>); 1] = [("computes", |node, arguments| Box::pin(computes(node, arguments)))];
///
/// impl Program for Work {
///     type Message = u64;
///     type State = Option<Time>;
///     type Carrier = FlowLevel<u64>;
///     fn nodes(&self) -> u32 { 2 }
///     fn carrier(&self) -> &FlowLevel<u64> { &self.carrier }
///     fn start(&self, start: &mut Start<'_, Self>) -> Option<Time> {
///         self.deployment.begin(start);
///         None
///     }
///     fn restart(&self, start: &mut Start<'_, Self>, _: &mut Option<Time>) {
///         self.deployment.begin_again(start);
///     }
///     fn finish(&self, id: LpId, done: &Option<Time>, _: &End, _: &mut Metrics) {
///         assert_eq!(*done, (id == LpId(1)).then_some(Time::from_secs(5)));
///     }
/// }
///
/// let platform = parades_flow::xml::parse("two.xml".as_ref(), br#"<platform version="4.1"><zone id="w" routing="Full">
///     <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/></zone></platform>"#)?;
/// let text = br#"<platform version="4.1">
///     <actor host="b" function="computes" start_time="3"><argument value="2e9"/></actor></platform>"#;
/// let deployment = Deployment::parse("d.xml".as_ref(), text, &platform, &FUNCTIONS)?;
/// let model = NetworkModel::MaxMin(MaxMinModel::LV08);
/// let carrier = FlowLevel::new(platform.into(), model, 2, |&bytes| bytes as f64).with_ends_of_processes();
/// let program = Processes::new(Work { carrier, deployment });
/// parades_engine::sequential::run(&program, RunOptions::until(Time::from_secs(9)))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Deployment<P: PlatformProgram> {
    deployed: Vec<Deployed>,
    functions: Vec<(&'static str, Function<P>)>,
}

impl<P: PlatformProgram> fmt::Debug for Deployment<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Deployment").field(&self.deployed).finish()
    }
}

impl<P: PlatformProgram> Deployment<P> {
    /// Reads the deployment file at `path` of processes on a platform. `functions` are the functions by name.
    ///
    /// # Errors
    ///
    /// As [`deployment::read`].
    pub fn read(
        path: &Path,
        platform: &Platform,
        functions: &[(&'static str, Function<P>)],
    ) -> Result<Deployment<P>, ConfigError> {
        let deployed = deployment::read(path, platform, &names_of(functions))?;
        Ok(Deployment { deployed, functions: functions.to_vec() })
    }

    /// Reads a deployment from memory. Errors name the file `file`.
    ///
    /// # Errors
    ///
    /// As [`deployment::read`].
    pub fn parse(
        file: &Path,
        bytes: &[u8],
        platform: &Platform,
        functions: &[(&'static str, Function<P>)],
    ) -> Result<Deployment<P>, ConfigError> {
        let deployed = deployment::parse(file, bytes, platform, &names_of(functions))?;
        Ok(Deployment { deployed, functions: functions.to_vec() })
    }

    /// Begins the processes of a node, each at its time. The run ends with an error that names the place in
    /// the file if the host of a process has no node, or has failed when the process begins.
    pub fn begin(&self, start: &mut Start<'_, P>) {
        let (LpId(node), nodes) = (start.id(), start.nodes());
        if node == 0
            && let Some(homeless) = self.deployed.iter().find(|deployed| deployed.host.0 >= nodes)
        {
            let Deployed { spot, host: HostId(host), .. } = homeless.clone();
            start.spawn("deployment", move |node| async move {
                let hosts = |program: &P| program.carrier().platform().hosts()[host as usize].name.clone();
                let wrong = format!("the host `{}` has no node, as the program has {nodes}", node.with_program(hosts));
                node.fail(sentence(&spot, wrong, "let the program have as many nodes as the platform has hosts"));
            });
        }
        self.begin_where(start, |_| true);
    }

    /// Begins the processes of a node that begin again when its host works again. Those whose time has not
    /// come begin at their time.
    pub fn begin_again(&self, start: &mut Start<'_, P>) {
        let now = start.now();
        self.begin_where(start, |deployed| deployed.restarts && deployed.start <= now);
    }

    fn begin_where(&self, start: &mut Start<'_, P>, begins: impl Fn(&Deployed) -> bool) {
        let LpId(node) = start.id();
        for deployed in self.deployed.iter().filter(|deployed| deployed.host.0 == node && begins(deployed)) {
            let (name, function) = self.functions[deployed.function];
            let Deployed { spot, arguments, start: begin, kill, restarts, .. } = deployed.clone();
            let process = start.spawn_at(begin, name, move |node| async move {
                if node.with_program(|program| program.carrier().kills) && !node.host_works() {
                    return begins_on_failed_host(node, &spot, restarts).await;
                }
                function(node, arguments).await;
            });
            kill.into_iter().for_each(|kill| start.kill_at(process, kill));
        }
    }
}

fn names_of<P: PlatformProgram>(functions: &[(&'static str, Function<P>)]) -> Vec<&'static str> {
    functions.iter().map(|(name, _)| *name).collect()
}

/// Ends a process whose host has failed as it begins. One that restarts begins again with its host. Any other
/// is an error, as in SimGrid.
async fn begins_on_failed_host<P: PlatformProgram>(node: Node<P>, spot: &Spot, restarts: bool) {
    if restarts {
        node.kill(node.process_id());
        return std::future::pending().await;
    }
    let help = "begin it at another time, or add on_failure=\"RESTART\"";
    node.fail(sentence(spot, "its host has failed at the start_time of the actor".to_owned(), help));
}

/// Returns a sentence on an element of a deployment.
fn sentence(spot: &Spot, wrong: String, help: &str) -> String {
    ConfigError::new(wrong).with_help(help).at(Place::Spot(spot.clone())).to_string()
}
