//! User-Mode Linux on processors with large registers.
//!
//! Linux 6.1 as a process saves its own processes' floating-point registers into a fixed buffer,
//! which AVX-512 and AMX have outgrown: the host then refuses, and the guest dies before its first
//! program. Where the host offers only the old set of registers the guest uses that, so it is
//! offered nothing else: a filter answers the one request for the extended state as a kernel that
//! does not know it would. What lies beyond SSE is lost whenever a program meets a page that is not
//! there yet, so [`PROGRAMS`] keeps programs from it. (The C library copies memory with AVX even
//! where it was told that there is none, unless told that it would be slow, too.)

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// ptrace(2), on x86-64.
const PTRACE: i64 = 101;
/// Its request for a set of registers, `PTRACE_GETREGSET`.
const READ_REGISTER_SET: u64 = 0x4204;
/// The set in question, `NT_X86_XSTATE`.
const EXTENDED_STATE: u64 = 0x202;
/// What a kernel answers that does not know the set.
const INVALID_ARGUMENT: u32 = 22;

/// Variables for the guest's programs, with which the C library, OpenSSL and GnuTLS stay with SSE.
pub(crate) const PROGRAMS: [&str; 3] = [
    "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX_Fast_Unaligned_Load,-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX2,-AVX,-XSAVEC,-XSAVE,-ERMS,-FSRM",
    "OPENSSL_ia32cap=~0x1000000000000000:~0xffffffffffffffff",
    "GNUTLS_CPUID_OVERRIDE=0x1",
];

/// Hides the extended state from this thread and all that it starts.
pub(crate) fn hide_extended_state() -> Result<(), seccompiler::Error> {
    let is = |argument, value| SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, value);
    let request = SeccompRule::new(vec![is(0, READ_REGISTER_SET)?, is(2, EXTENDED_STATE)?])?;
    let filter = SeccompFilter::new(
        BTreeMap::from([(PTRACE, vec![request])]),
        SeccompAction::Allow,
        SeccompAction::Errno(INVALID_ARGUMENT),
        seccompiler::TargetArch::x86_64,
    )?;
    let program: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)
}
