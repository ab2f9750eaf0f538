"""The filesystem broker after its writer was killed, or the disk was full."""

from types import SimpleNamespace

from kombu import Connection, Queue

from evalcore.celery import make_queue_folders


def test_empty_queue_table_does_not_block_messages(tmp_path):
    options = {
        "data_folder_in": str(tmp_path / "messages"),
        "data_folder_out": str(tmp_path / "messages"),
        "control_folder": str(tmp_path / "control"),
    }
    start = SimpleNamespace(broker_transport_options=options)
    make_queue_folders(start)
    table = tmp_path / "control" / "bell.exchange"
    table.write_bytes(b"")
    make_queue_folders(start)
    with Connection("filesystem://", transport_options=options) as connection:
        # A process binds queues of one name once, wherever the folders are.
        queue = connection.SimpleQueue(
            Queue("bell", exchange="bell", routing_key="bell")
        )
        queue.put("ring")
        message = queue.get(timeout=60)
        message.ack()
        assert message.payload == "ring"
    kept = table.read_bytes()
    make_queue_folders(start)
    assert table.read_bytes() == kept != b"[]"


def test_incomplete_message_is_removed(tmp_path):
    options = {"data_folder_out": str(tmp_path / "messages")}
    start = SimpleNamespace(broker_transport_options=options)
    make_queue_folders(start)
    folder = tmp_path / "messages"
    (folder / "1_a.cpu.msg").write_bytes(b"")
    (folder / "2_b.cpu.msg").write_bytes(b'{"body": "W10')
    (folder / "3_c.cpu.msg").write_bytes(b'{"body": "W10="}')
    make_queue_folders(start)
    assert [path.name for path in folder.iterdir()] == ["3_c.cpu.msg"]
