//! Shares: directories for others in the local network, by Samba, NFS and FTP.

#![forbid(unsafe_code)]
