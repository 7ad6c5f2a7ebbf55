-- An in-memory database: inserts, two indexes, joins, text functions, updates, deletes.
-- sqlite3 :memory: '.parameter set :n ROWS' '.read orders.sql'
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, item TEXT, note TEXT, cents INTEGER);

INSERT INTO customer
WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < :n / 20)
SELECT i, 'customer ' || (i * 7919 % 100003), 'city ' || (i % 97) FROM k;

INSERT INTO orders
WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < :n)
SELECT i, 1 + i * 31 % (:n / 20), 'item ' || (i * 7 % 1009),
       substr('a note of some length that differs from row to row', 1, 5 + i % 40), i * 13 % 10007
FROM k;

CREATE INDEX orders_customer ON orders(customer, cents);
CREATE INDEX orders_item ON orders(item);

SELECT city, count(*), sum(cents), max(item) FROM customer JOIN orders ON customer.id = orders.customer
GROUP BY city ORDER BY 3 DESC LIMIT 3;
SELECT count(*), sum(length(all_items)) FROM
    (SELECT group_concat(item, ';') AS all_items FROM orders GROUP BY customer);
UPDATE orders SET note = upper(note) || ' / ' || item WHERE id % 3 = 0;
DELETE FROM orders WHERE id % 5 = 0;
SELECT count(DISTINCT note), sum(cents), min(item) FROM orders;
