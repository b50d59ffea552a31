//! Shared data of several values of one frame.

use parades_core::shared::Shared;
use parades_core::wire::{self, Destination, FrameWriter};

fn write_all(values: &[Shared<Vec<u8>>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut frame = FrameWriter::new(Destination::Elsewhere);
    values.iter().for_each(|value| frame.write(value, &mut bytes));
    bytes
}

fn read_all(mut bytes: &[u8]) -> Vec<Shared<Vec<u8>>> {
    let mut values = Vec::new();
    wire::read_frame(|| {
        while !bytes.is_empty() {
            values.push(wire::read(&mut bytes).expect("it was written"));
        }
    });
    values
}

#[test]
fn each_datum_is_written_once_and_shared_again_by_the_reader() {
    let (one, two) = (Shared::new(vec![1; 1000]), Shared::new(vec![2; 1000]));
    let sent: Vec<_> = [&one, &two, &one, &one, &two].map(Shared::clone).into();
    let bytes = write_all(&sent);
    assert!((2000..2100).contains(&bytes.len()), "{}", bytes.len());
    let received = read_all(&bytes);
    for (received, sent) in received.iter().zip(&sent) {
        assert_eq!(**received, **sent);
    }
    assert!(std::ptr::eq(&received[0][0], &received[2][0]));
    assert!(!std::ptr::eq(&received[0][0], &received[1][0]));
}

#[test]
fn equal_data_that_are_not_shared_stay_apart() {
    let sent = [Shared::new(vec![1; 100]), Shared::new(vec![1; 100])];
    let received = read_all(&write_all(&sent));
    assert!(!std::ptr::eq(&received[0][0], &received[1][0]));
}

#[test]
fn the_next_frame_has_the_data_again() {
    let datum = [Shared::new(vec![7; 100])];
    assert_eq!(*read_all(&write_all(&datum))[0], *datum[0]);
    assert_eq!(*read_all(&write_all(&datum))[0], *datum[0]);
}

#[test]
fn nested_shared_data_have_the_same_numbers_at_both_ends() {
    let inner = Shared::new(vec![7_u8; 100]);
    let outer = Shared::new((1_u8, 2_u8));
    let value = (vec![inner.clone(), inner.clone()], outer.clone(), inner, outer);
    let mut bytes = Vec::new();
    FrameWriter::new(Destination::Elsewhere).write(&value, &mut bytes);
    type Value = (Vec<Shared<Vec<u8>>>, Shared<(u8, u8)>, Shared<Vec<u8>>, Shared<(u8, u8)>);
    let (list, first, inner, second): Value = wire::read_frame(|| wire::read(&mut bytes.as_slice())).unwrap();
    assert!(std::ptr::eq(&list[1][0], &inner[0]));
    assert!(std::ptr::eq(&*first, &*second));
    assert_eq!((&inner[..], *second), (&[7; 100][..], (1, 2)));
}

#[test]
fn a_number_of_no_datum_or_of_another_type_is_an_error() {
    let mut bytes = Vec::new();
    let datum = Shared::new(vec![7_u8; 3]);
    let mut frame = FrameWriter::new(Destination::Elsewhere);
    (0..2).for_each(|_| frame.write(&datum, &mut bytes));
    let number = &bytes[bytes.len() - 2..];
    assert!(wire::read_frame(|| wire::read::<Shared<Vec<u8>>>(&mut &*number)).is_err());
    wire::read_frame(|| {
        let mut bytes = bytes.as_slice();
        assert!(wire::read::<Shared<Vec<u8>>>(&mut bytes).is_ok());
        assert!(wire::read::<Shared<(u8, u8)>>(&mut bytes).is_err());
    });
}
