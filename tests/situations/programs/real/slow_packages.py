"""More slow code, for slow.py: of packages that many programs use, and of Python's library."""
import io


def encodings():
    import charset_normalizer

    page = ("Gr\xfc\xdfe aus K\xf6ln, sch\xf6n. " * 400).encode("latin-1")

    def slow():
        return charset_normalizer.from_bytes(page).best()

    def quick():
        return page.decode("latin-1")

    return slow, quick


def detects():
    import chardet

    page = ("Gr\xfc\xdfe aus K\xf6ln, sch\xf6n. " * 400).encode("latin-1")

    def slow():
        return chardet.detect(page)

    def quick():
        return page.decode("latin-1")

    return slow, quick


def relations():
    import sqlalchemy
    from sqlalchemy import orm

    base = orm.declarative_base()

    class Shop(base):
        __tablename__ = "shops"
        id = sqlalchemy.Column(sqlalchemy.Integer, primary_key=True)
        orders = orm.relationship("Order")

    class Order(base):
        __tablename__ = "orders"
        id = sqlalchemy.Column(sqlalchemy.Integer, primary_key=True)
        shop = sqlalchemy.Column(sqlalchemy.ForeignKey("shops.id"))

    engine = sqlalchemy.create_engine("sqlite://")
    base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add_all(Shop(id=n, orders=[Order()]) for n in range(200))
        session.commit()

    def count(*options):
        with orm.Session(engine) as session:
            shops = session.scalars(sqlalchemy.select(Shop).options(*options))
            return sum(len(shop.orders) for shop in shops)

    def slow():
        return count()

    def quick():
        return count(orm.selectinload(Shop.orders))

    return slow, quick


def foreign_keys():
    import django
    from django.conf import settings
    from django.db import connection, models

    settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3",
                                              "NAME": ":memory:"}})
    django.setup()

    class Shop(models.Model):
        name = models.TextField()

        class Meta:
            app_label = "shop"

    class Order(models.Model):
        shop = models.ForeignKey(Shop, on_delete=models.CASCADE)

        class Meta:
            app_label = "shop"

    with connection.schema_editor() as editor:
        editor.create_model(Shop)
        editor.create_model(Order)
    for number in range(200):
        Order.objects.create(shop=Shop.objects.create(name=str(number)))

    def slow():
        return [order.shop.name for order in Order.objects.all()]

    def quick():
        return [order.shop.name for order in Order.objects.select_related("shop")]

    return slow, quick


def fonts():
    from matplotlib import font_manager

    kept = font_manager.fontManager

    def slow():
        return font_manager.FontManager().findfont("sans")

    def quick():
        return kept.findfont("sans")

    return slow, quick


def distributions():
    import importlib.metadata

    import pkg_resources

    def slow():
        return pkg_resources.WorkingSet().by_key["pip"].version

    def quick():
        return importlib.metadata.version("pip")

    return slow, quick


def workbooks():
    import openpyxl

    book = openpyxl.Workbook()
    for number in range(2000):
        book.active.append([number, number / 7, str(number)])
    file = io.BytesIO()
    book.save(file)

    def slow():
        return [row[0] for row in openpyxl.load_workbook(file).active.iter_rows(values_only=True)]

    def quick():
        sheet = openpyxl.load_workbook(file, read_only=True).active
        return [row[0] for row in sheet.iter_rows(max_row=20, values_only=True)]

    return slow, quick


def sparse():
    import scipy.sparse

    numbers = range(1, 400, 3)

    def fill(matrix):
        for number in numbers:
            matrix[number, number - 1] = 1
        return matrix.tocsr()

    def slow():
        return fill(scipy.sparse.csr_matrix((400, 400)))

    def quick():
        return fill(scipy.sparse.lil_matrix((400, 400)))

    import warnings
    warnings.simplefilter("ignore")
    return slow, quick


def cells():
    import numpy
    import pandas

    table = pandas.DataFrame({"price": numpy.ones(300), "total": numpy.zeros(300)})

    def slow():
        for row in range(300):
            table.loc[row, "total"] = table.loc[row, "price"] * 2

    def quick():
        table["total"] = table["price"] * 2

    return slow, quick


def concats():
    import pandas

    part = pandas.DataFrame({"price": range(2000)})

    def slow():
        whole = part
        for _ in range(200):
            whole = pandas.concat([whole, part])
        return whole.sort_values("price")

    def quick():
        return pandas.concat([part] * 200).sort_values("price")

    return slow, quick


def tuples():
    import collections
    import gc

    gc.disable()  # a class that is dropped is garbage of the collector's
    kept = collections.namedtuple("Point", "x y")

    def slow():
        return collections.namedtuple("Point", "x y")(1, 2)

    def quick():
        return kept(1, 2)

    return slow, quick


def bars():
    import tqdm

    def count(**options):
        with open("/dev/null", "w", encoding="ascii") as file:
            for _ in tqdm.tqdm(range(5000), file=file, **options):
                pass

    def slow():
        count(mininterval=0, miniters=1)

    def quick():
        count(mininterval=1)

    return slow, quick


def records():
    import logging

    log = logging.getLogger("shop")
    log.addHandler(logging.StreamHandler(open("/dev/null", "w", encoding="ascii")))

    def write(level):
        log.setLevel(level)
        for number in range(500):
            log.debug("order %d", number)

    def slow():
        write(logging.DEBUG)

    def quick():
        write(logging.WARNING)

    return slow, quick


def traces():
    import sys
    import traceback

    def slow():
        return traceback.format_stack()[-1]

    def quick():
        return sys._getframe().f_lineno

    return slow, quick


def csvs():
    import pandas

    text = "name;price\n" + "shop;12.5\n" * 5000

    def slow():
        return pandas.read_csv(io.StringIO(text), sep=None, engine="python")["price"].sum()

    def quick():
        return pandas.read_csv(io.StringIO(text), sep=";")["price"].sum()

    return slow, quick


def groups():
    import pandas

    table = pandas.DataFrame({"shop": [n % 500 for n in range(5000)], "price": range(5000)})

    def slow():
        return table.groupby("shop")["price"].apply(lambda prices: prices.sum())

    def quick():
        return table.groupby("shop")["price"].sum()

    return slow, quick


def numbers():
    import numpy
    import pandas

    text = "1.5 2.5 3.5\n" * 3000

    def slow():
        return numpy.genfromtxt(io.StringIO(text)).sum()

    def quick():
        return pandas.read_csv(io.StringIO(text), sep=" ", header=None).to_numpy().sum()

    return slow, quick


def statements():
    import sqlalchemy

    orders = sqlalchemy.Table("orders", sqlalchemy.MetaData(),
                              *(sqlalchemy.Column(f"c{n}", sqlalchemy.Integer) for n in range(9)))
    engine = sqlalchemy.create_engine("sqlite://")
    connection = engine.connect()
    orders.create(connection)
    number = iter(range(1 << 30))

    def slow():
        text = sqlalchemy.text(f"c1 = {next(number)}")
        return connection.execute(sqlalchemy.select(orders).where(text)).all()

    def quick():
        return connection.execute(sqlalchemy.select(orders).where(
            orders.c.c1 == next(number))).all()

    return slow, quick


def answers():
    import json

    from fastapi.encoders import jsonable_encoder

    rows = [{"name": str(n), "price": n} for n in range(300)]

    def slow():
        return json.dumps(jsonable_encoder(rows))

    def quick():
        return json.dumps(rows)

    return slow, quick
