//! The thread that compiles: one with a large stack, replaced now and then.
//!
//! Everything parsed stays in a source map of its thread, a few hundred kilobytes a compile,
//! until the thread ends. So a thread serves a bounded number of compiles; its successor is
//! started at once and parses cutile's modules while nobody waits.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use syn::ItemMod;

use crate::frontend::{Compiled, Failure, Frontend, Program};
use crate::locate::locate;
use crate::panics;
use crate::port::{Port, only_module};
use crate::request::{Answer, Diagnostic, Place, Report, Request, Source};

/// Reserved, not used, unless the text is nested deeply.
const STACK_BYTES: usize = 256 << 20;
/// Compiles per thread: about 20 MB of source map.
const SERVES: usize = 64;
/// The text that is edited, and the one it may go back to.
const TEXTS_KEPT: usize = 2;

struct Job {
    request: Request,
    answer: SyncSender<Answer>,
}

static THREAD: Mutex<Option<(SyncSender<Job>, usize)>> = Mutex::new(None);

/// Compiles one request; calls from several threads take turns.
pub fn compile(request: Request) -> Answer {
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    let (answer, answered) = sync_channel(1);
    let (jobs, served) = match thread.take() {
        Some(running) => running,
        None => match start() {
            Ok(jobs) => (jobs, 0),
            Err(error) => return failed(&format!("no thread to compile in: {error}")),
        },
    };
    if jobs.send(Job { request, answer }).is_err() {
        return failed("the compile thread ended");
    }
    let Ok(answer) = answered.recv() else {
        return failed("the compile thread ended");
    };
    if served + 1 < SERVES {
        *thread = Some((jobs, served + 1));
    } else {
        drop(jobs);
        *thread = start().ok().map(|jobs| (jobs, 0));
    }
    answer
}

/// Starts the thread if it does not run, so that it is warm when the first request comes.
pub fn warm() {
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    if thread.is_none() {
        *thread = start().ok().map(|jobs| (jobs, 0));
    }
}

fn start() -> std::io::Result<SyncSender<Job>> {
    let (jobs, queue) = sync_channel(1);
    thread::Builder::new()
        .name("tileport-compile".to_string())
        .stack_size(STACK_BYTES)
        .spawn(move || serve(&queue))?;
    Ok(jobs)
}

fn serve(queue: &Receiver<Job>) {
    let mut bench = Bench {
        frontend: Frontend::warm(),
        recent: VecDeque::new(),
    };
    for job in queue {
        let answer = panics::catch(|| bench.answer(&job.request))
            .unwrap_or_else(|message| failed(&format!("internal error: {message}")));
        // Whoever asked may be gone.
        let _ = job.answer.send(answer);
        // Freeing a program takes a while; nobody waits for it here.
        bench.recent.truncate(TEXTS_KEPT);
    }
}

/// What one thread compiles with.
struct Bench {
    frontend: Frontend,
    /// Newest first.
    recent: VecDeque<Rc<Text>>,
}

/// A port's text, read and indexed: its variants are compiled one after the other.
struct Text {
    path: String,
    text: String,
    module: ItemMod,
    program: Result<Program, Failure>,
}

impl Bench {
    fn answer(&mut self, request: &Request) -> Answer {
        let start = Instant::now();
        let mut answer = Answer::default();
        let milliseconds = &mut answer.report.milliseconds;
        let text = self.read(request);
        milliseconds.insert("parse", start.elapsed().as_secs_f64() * 1e3);
        let compiling = Instant::now();
        match text.and_then(|text| self.compile(&text, request)) {
            Ok(compiled) => {
                milliseconds.insert("compile", compiled.compile_milliseconds);
                milliseconds.insert("write", compiled.write_milliseconds);
                answer.bytecode = Some(compiled.bytecode);
            }
            Err(diagnostic) => {
                milliseconds.insert("compile", compiling.elapsed().as_secs_f64() * 1e3);
                answer.report.diagnostics.push(diagnostic);
            }
        }
        answer
    }

    fn compile(&mut self, text: &Text, request: &Request) -> Result<Compiled, Diagnostic> {
        let port = Port::find(&text.module, request)?;
        let outcome = match &text.program {
            Ok(program) => program.compile(request),
            Err(failure) => Err(failure.clone()),
        };
        outcome.map_err(|failure| {
            // A panic may have left an index half made.
            self.recent.clear();
            Diagnostic {
                place: locate(&self.frontend, &port, request, &failure),
                message: failure.message,
                source: Source::Frontend,
            }
        })
    }

    /// The request's text, from memory if it was among the last ones.
    fn read(&mut self, request: &Request) -> Result<Rc<Text>, Diagnostic> {
        let known = self
            .recent
            .iter()
            .position(|known| known.text == request.text && known.path == request.path);
        let text = match known.and_then(|index| self.recent.remove(index)) {
            Some(text) => text,
            None => {
                let module = only_module(&request.text)?;
                let program = self.frontend.program(&module, &request.path);
                Rc::new(Text {
                    path: request.path.clone(),
                    text: request.text.clone(),
                    module,
                    program,
                })
            }
        };
        self.recent.push_front(Rc::clone(&text));
        Ok(text)
    }
}

fn failed(message: &str) -> Answer {
    let diagnostic = Diagnostic {
        message: message.to_string(),
        place: Place { line: 1, column: 1 },
        source: Source::Frontend,
    };
    Answer {
        bytecode: None,
        report: Report {
            diagnostics: vec![diagnostic],
            ..Report::default()
        },
    }
}
