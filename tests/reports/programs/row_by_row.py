"""Each message is a transaction of its own."""
import os
import sqlite3
import tempfile

from account import Account

account = Account()


def save_message(connection, number, flags):
    connection.execute("INSERT INTO status VALUES (?, ?)", (number, flags))
    with account.at("save_message"):
        connection.commit()


with tempfile.TemporaryDirectory() as folder:
    connection = sqlite3.connect(os.path.join(folder, "status.sqlite"))
    connection.execute("CREATE TABLE status (id INTEGER, flags VARCHAR(50))")
    number = 0
    account.ready()
    while account.goes_on():
        number += 1
        save_message(connection, number, ",".join(sorted(["S", "R", "F"])))
    connection.close()
account.tell()
