"""Each method that builds a query copies it deeply."""
import copy

from account import Account

account = Account()


class Query:
    def __init__(self):
        self.fields, self.tables, self.wheres, self.limit_to = [], [], [], None

    def select(self, *fields):
        with account.at("deepcopy"):
            query = copy.deepcopy(self)
        query.fields.extend({"name": field, "alias": None} for field in fields)
        return query

    def join_(self, table):
        with account.at("deepcopy"):
            query = copy.deepcopy(self)
        query.tables.append({"name": table, "on": [table + ".id"]})
        return query

    def where_(self, field, value):
        with account.at("deepcopy"):
            query = copy.deepcopy(self)
        query.wheres.append({"field": field, "value": value})
        return query

    def limit(self, rows):
        with account.at("deepcopy"):
            query = copy.deepcopy(self)
        query.limit_to = rows
        return query

    def sql(self):
        for _ in range(12):
            text = ", ".join(f'"{field["name"]}"' for field in self.fields)
            text += " ".join(f'JOIN "{table["name"]}"' for table in self.tables)
            text += " AND ".join(f'"{w["field"]}" = {w["value"]!r}' for w in self.wheres)
        return text


account.ready()
while account.goes_on():
    built = Query().select("id", "name", "price").join_("shop").join_("stock").select("count")
    built.where_("price", 3).where_("name", "tea").where_("count", 8).limit(10).sql()
account.tell()
