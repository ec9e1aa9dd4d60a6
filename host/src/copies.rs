//! Copies of what a tenant has: as lines of JSON, as a snapshot of the file; and the file made small.

use std::future::IntoFuture;

use crate::call::{Access, Call};
use crate::error::Result;
use crate::session::Session;
use crate::tenant::Tenant;
use crate::types::{LinePage, LinesReport, SnapshotPiece, VacuumReport};

impl Tenant {
    /// A page of an export of the whole store as lines of JSON. Errors: `stale-cursor` when what is being exported was
    /// written to meanwhile in a way that pages cannot follow, `unknown-tenant`.
    pub fn export_lines(&self) -> ExportLines {
        ExportLines { tenant: self.clone(), session: None, cursor: None, max_bytes: None }
    }

    /// Takes lines of an export, page after page in order, each call all or none. Lines that cannot be taken are
    /// reported and left out; messages that are there already are skipped. Errors: `invalid-argument`.
    pub fn import_lines(&self, lines: impl Into<String>) -> Call<Vec<LinesReport>> {
        self.import(None, lines.into())
    }

    fn import(&self, session: Option<String>, lines: String) -> Call<Vec<LinesReport>> {
        let written = |reports: &Vec<LinesReport>| {
            reports.iter().any(|report| report.imported + report.skipped > 0 || report.failed.is_empty())
        };
        let label = self.label("import-lines").carrying(lines.len());
        self.enqueue(label, Access::Write(written), move |guest, store| {
            guest.call_import_lines(store, session.as_deref(), &lines)
        })
    }

    /// A piece of a consistent copy of the store's file, which can be taken while the store is in use. The first piece
    /// makes the copy beside the store, which takes as much room; the last one takes it away. Errors: `stale-cursor`,
    /// `storage-full`, `unknown-tenant`.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { tenant: self.clone(), cursor: None, max_bytes: None }
    }

    /// Rewrites the store's file without free pages. It needs up to twice its size in free room on the disk, else
    /// `storage-full`, and nothing changes. The disk quota lets it have that.
    pub fn vacuum(&self) -> Call<VacuumReport> {
        self.enqueue(self.label("vacuum"), Access::Write(|_| false), |guest, store| guest.call_vacuum(store))
    }
}

impl Session {
    /// A page of an export of this session as lines of JSON. Errors: `unknown-tenant`, `unknown-session`, `stale-cursor`.
    pub fn export_lines(&self) -> ExportLines {
        ExportLines { session: Some(self.id().to_owned()), ..self.tenant().export_lines() }
    }

    /// Takes lines of an export of one session into this one, whatever that was called. See [`Tenant::import_lines`].
    pub fn import_lines(&self, lines: impl Into<String>) -> Call<Vec<LinesReport>> {
        self.tenant().import(Some(self.id().to_owned()), lines.into())
    }
}

/// See [`Tenant::export_lines`] and [`Session::export_lines`].
#[derive(Clone, Debug)]
#[must_use = "nothing is called before `.await`"]
pub struct ExportLines {
    tenant: Tenant,
    session: Option<String>,
    cursor: Option<String>,
    max_bytes: Option<u64>,
}

impl ExportLines {
    /// Goes on where the page with this cursor ended; none: from the beginning.
    pub fn cursor(mut self, cursor: impl Into<Option<String>>) -> Self {
        self.cursor = cursor.into();
        self
    }

    /// Bytes in this page; none: 16 MiB. One line above it stands alone.
    pub fn max_bytes(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.max_bytes = bytes.into();
        self
    }
}

impl IntoFuture for ExportLines {
    type Output = Result<LinePage>;
    type IntoFuture = Call<LinePage>;

    fn into_future(self) -> Call<LinePage> {
        let Self { tenant, session, cursor, max_bytes } = self;
        tenant.enqueue(tenant.label("export-lines"), Access::Existing, move |guest, store| {
            guest.call_export_lines(store, session.as_deref(), cursor.as_deref(), max_bytes)
        })
    }
}

/// See [`Tenant::snapshot`].
#[derive(Clone, Debug)]
#[must_use = "nothing is called before `.await`"]
pub struct Snapshot {
    tenant: Tenant,
    cursor: Option<String>,
    max_bytes: Option<u64>,
}

impl Snapshot {
    /// Goes on where the piece with this cursor ended; none: makes a new copy.
    pub fn cursor(mut self, cursor: impl Into<Option<String>>) -> Self {
        self.cursor = cursor.into();
        self
    }

    /// Bytes in this piece, at most 16 MiB; none: 1 MiB.
    pub fn max_bytes(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.max_bytes = bytes.into();
        self
    }
}

impl IntoFuture for Snapshot {
    type Output = Result<SnapshotPiece>;
    type IntoFuture = Call<SnapshotPiece>;

    fn into_future(self) -> Call<SnapshotPiece> {
        let Self { tenant, cursor, max_bytes } = self;
        tenant.enqueue(tenant.label("snapshot"), Access::Existing, move |guest, store| {
            guest.call_snapshot(store, cursor.as_deref(), max_bytes)
        })
    }
}
