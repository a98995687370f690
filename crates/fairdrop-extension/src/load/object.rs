//! Whether a file holds all of the shared object that it begins: the loader maps what the header says, and whoever touches what
//! the file does not have is killed.

use object::Endianness;
use object::elf::{
    ELFCLASS32, ELFCLASS64, ELFDATA2LSB, ELFDATA2MSB, ELFMAG, ET_DYN, FileHeader32, FileHeader64, PT_LOAD,
};
use object::read::elf::{FileHeader, ProgramHeader};

/// Where the class and the order of bytes are.
const KIND: std::ops::Range<usize> = 4..6;
/// Those of this machine.
const HERE: [u8; 2] = [
    if cfg!(target_pointer_width = "64") { ELFCLASS64.0 } else { ELFCLASS32.0 },
    if cfg!(target_endian = "little") { ELFDATA2LSB.0 } else { ELFDATA2MSB.0 },
];

/// Whether `content` is whole, as far as it is an ELF file for this machine: what else there is, the loader knows.
///
/// # Errors
/// What it lacks.
pub fn check(content: &[u8]) -> Result<(), String> {
    if !content.starts_with(&ELFMAG) || content.get(KIND) != Some(&HERE) {
        return Ok(());
    }
    if cfg!(target_pointer_width = "64") {
        segments::<FileHeader64<Endianness>>(content)
    } else {
        segments::<FileHeader32<Endianness>>(content)
    }
}

fn segments<E: FileHeader<Endian = Endianness>>(content: &[u8]) -> Result<(), String> {
    let cut = |what: &str| {
        let bytes = content.len();
        format!("it is cut short or damaged: it has {bytes} bytes, and {what}; valid: a whole shared object")
    };
    let header = E::parse(content).map_err(|_| cut("its ELF header is longer, or none"))?;
    let endian = header.endian().map_err(|_| cut("its ELF header has no order of bytes"))?;
    if header.e_type(endian) != ET_DYN {
        return Err("it is an ELF file, and no shared object; valid: what cc -shared makes".into());
    }
    let all =
        header.program_headers(endian, content).map_err(|_| cut("its program headers lie beyond them"))?;
    for (number, segment) in all.iter().enumerate().filter(|(_, segment)| segment.p_type(endian) == PT_LOAD) {
        let [from, len] = [segment.p_offset(endian), segment.p_filesz(endian)].map(Into::<u64>::into);
        if from.checked_add(len).is_none_or(|end| end > content.len() as u64) {
            return Err(cut(&format!("its segment {number} has {len} from byte {from} on")));
        }
    }
    Ok(())
}
