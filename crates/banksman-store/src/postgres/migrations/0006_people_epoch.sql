-- Rises with every change of people. What changes rights or standing also raises the epoch of the house rules; a failed sign-in
-- does not, so that no stranger can make commits of others start again.
ALTER TABLE head ADD COLUMN people_epoch bigint NOT NULL DEFAULT 1;
